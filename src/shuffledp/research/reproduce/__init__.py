"""The papers' tables and figures, recomputed, one file per paper;
and how tight our own bounds are."""

from shuffledp.research.reproduce import (
    adult_training,
    allocation2025,
    best_accuracy,
    central,
    chen2024,
    chen2024_training,
    hps2024,
    ietf_ppm,
    liew2023,
    liew2023_training,
    swap_gap,
    wang2023,
    wang2023_mixtures,
)
from shuffledp.research.reproduce.result import Item, Result

ITEMS: dict[str, Item] = {
    "central-batches": Item(
        "Chua et al. 2024, 2025; Feldman, Shenfeld 2025: central DP-SGD by how batches are drawn",
        central.batches,
    ),
    "feldman-2025-noise": Item(
        "Feldman, Shenfeld 2025: random allocation, epsilon over sigma", allocation2025.over_noise
    ),
    "feldman-2025-epochs": Item(
        "Feldman, Shenfeld 2025: random allocation, epsilon over epochs",
        allocation2025.over_epochs,
    ),
    "feldman-2025-steps": Item(
        "Feldman, Shenfeld 2025: random allocation, epsilon over steps", allocation2025.over_steps
    ),
    "feldman-2025-joined": Item(
        "Feldman, Shenfeld 2025: random allocation, epsilon over the steps an example joins",
        allocation2025.over_joined,
    ),
    "chua-2025-simulation": Item(
        "Chua et al. 2025 (balls and bins): delta over epsilon, simulated and proven",
        allocation2025.balls_and_bins,
    ),
    "ietf-ppm-rappor": Item(
        "draft-wang-ppm-differential-privacy: epsilon of summed symmetric RAPPOR",
        ietf_ppm.rappor_sums,
    ),
    "hps-2024-table-2": Item("Liu et al. 2024 (HPS), Table 2: delta, Uniform2", hps2024.table_2),
    "hps-2024-figure-3a": Item("Liu et al. 2024 (HPS), Figure 3(a): p0, p1", hps2024.figure_3a),
    "hps-2024-figure-3b": Item("Liu et al. 2024 (HPS), Figure 3(b): p over eps", hps2024.figure_3b),
    "hps-2024-figure-4": Item("Liu et al. 2024 (HPS), Figure 4: epsilon over n", hps2024.figure_4),
    "wang-2023-table-1": Item(
        "Wang et al. 2023, Table 1: delta at given epsilon", wang2023.table_1
    ),
    "wang-2023-table-2": Item(
        "Wang et al. 2023, Table 2: epsilon at given delta", wang2023.table_2
    ),
    "wang-2023-figure-1": Item(
        "Wang et al. 2023, Figure 1: trade-off functions", wang2023.figure_1
    ),
    "wang-2023-figure-2": Item(
        "Wang et al. 2023, Figure 2: one gradient step from a random start",
        wang2023_mixtures.figure_2,
    ),
    "wang-2023-figure-3": Item(
        "Wang et al. 2023, Figure 3: joint and advanced joint concavity",
        wang2023_mixtures.figure_3,
    ),
    "chen-2024-table-1": Item("Chen, Cao, Ge 2024, Table 1: Rényi rates", chen2024.table_1),
    "chen-2024-figure-2": Item(
        "Chen, Cao, Ge 2024, Figure 2: order 4 over eps0", chen2024.figure_2
    ),
    "chen-2024-figure-3": Item(
        "Chen, Cao, Ge 2024, Figure 3: eps0 = 2 over order", chen2024.figure_3
    ),
    "chen-2024-lemma-1": Item(
        "Chen, Cao, Ge 2024, Lemma 1 and Theorem 2: rate of convergence", chen2024.lemma_1
    ),
    "chen-2024-composition": Item(
        "Chen, Cao, Ge 2024, Theorem 3: epsilon over rounds", chen2024.composition
    ),
    "liew-2023-table-1": Item(
        "Liew, Takahashi 2023, Table 1: epsilon under composition", liew2023.table_1
    ),
    "liew-2023-figure-1a": Item(
        "Liew, Takahashi 2023, Figure 1a: epsilon over compositions", liew2023.figure_1a
    ),
    "liew-2023-figure-1b": Item(
        "Liew, Takahashi 2023, Figure 1b: privacy axis of shuffled check-in", liew2023.figure_1b
    ),
    "liew-2023-equation-17": Item(
        "Liew, Takahashi 2023, equation (17) at n = 60,000", liew2023.equation_17
    ),
    "swap-gap": Item(
        "How close to the truth: proven over leaked epsilon, with and without the swap bound",
        swap_gap.swap_gap,
    ),
    "chen-2024-figure-4-first": Item(
        "Chen, Cao, Ge 2024 (first version), Figure 4: training, accuracy over eps0",
        chen2024_training.chen_figure_4_first,
        takes="minutes",
    ),
    "chen-2024-figure-4": Item(
        "Chen, Cao, Ge 2024, Figure 4: training at one Rényi budget",
        chen2024_training.chen_figure_4_final,
        takes="minutes",
    ),
    "chen-2024-figure-4-search": Item(
        "Chen, Cao, Ge 2024, Figure 4: other settings at the same noise",
        chen2024_training.chen_figure_4_search,
        takes="minutes",
    ),
    "liew-2023-figure-1b-accuracy": Item(
        "Liew, Takahashi 2023, Figure 1b: training under shuffled check-in",
        liew2023_training.liew_figure_1b,
        takes="half an hour",
    ),
    "liew-2023-around": Item(
        "Liew, Takahashi 2023, section 5.2: training with other noise and rates",
        liew2023_training.liew_around,
        takes="minutes",
    ),
    "best-accuracy": Item(
        "The best accuracy on MNIST at a proven epsilon of 0.5, 1 and 2",
        best_accuracy.best_accuracy,
        takes="minutes",
    ),
    "best-accuracy-search": Item(
        "The best accuracy on MNIST: settings tried on a validation split",
        best_accuracy.best_accuracy_search,
        takes="minutes",
    ),
    "adult-training": Item(
        "Both trainers on Adult: accuracy against proven epsilon",
        adult_training.adult_training,
        takes="minutes",
    ),
    "adult-training-search": Item(
        "Both trainers on Adult: settings tried on a validation split",
        adult_training.adult_search,
        takes="minutes",
    ),
}

__all__ = ["ITEMS", "Item", "Result"]
