"""What a collection costs: randomizers, what is known of them, theorems,
protocols and their guarantees."""
