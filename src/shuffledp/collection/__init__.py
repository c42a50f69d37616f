"""What runs: devices, shufflers, estimates, plans, whole collections and the attacks on them."""
