"""Muon for the matrices of the layers, AdamW for the other weights, on float32 masters of bfloat16 weights.

Muon (Jordan et al. 2024; update scaled as by Liu et al. 2025, arXiv 2502.16982) makes each update of a matrix
orthogonal by a Newton-Schulz iteration. In a run of an hour on two cores it learns in about half the steps.
"""

from __future__ import annotations

import math
from concurrent.futures import Executor

import torch
from torch import Tensor, nn


@torch.no_grad()
def orthogonalised(update: Tensor) -> Tensor:
    """Approximate the closest semi-orthogonal matrix of each. float, *Shape:* (n, rows, columns) → the same."""
    a, b, c = 3.4445, -4.7750, 2.0315
    x = update.to(torch.bfloat16)
    tall = x.shape[-2] > x.shape[-1]
    if tall:
        x = x.transpose(-1, -2)
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(5):
        gram = x @ x.transpose(-1, -2)
        x = a * x + (b * gram + c * gram @ gram) @ x
    return (x.transpose(-1, -2) if tall else x).float()


class Optimiser:
    """Applies one step: gradients of the working weights → masters → working weights, and their running mean."""

    def __init__(self, network: nn.Module, working: dict[str, nn.Parameter], decay: float = 0.01) -> None:
        self.working = working
        self.masters = {name: p.detach().float().clone() for name, p in network.named_parameters()}
        self.mean = {name: p.clone() for name, p in self.masters.items()}
        self.first = {name: torch.zeros_like(p) for name, p in self.masters.items()}
        self.muon = [n for n, p in self.masters.items() if n.startswith("layers.") and p.dim() == 2]
        self.adam = [n for n in self.masters if n not in set(self.muon)]
        self.second = {name: torch.zeros_like(self.masters[name]) for name in self.adam}
        self.decay = decay
        self.steps = 0

    @torch.no_grad()
    def step(
        self, grads: dict[str, Tensor], rate_muon: float, rate_adam: float, mean_decay: float, workers: Executor
    ) -> float:
        """Apply the gradients; return their norm before clipping at 1 (which AdamW's part alone needs).

        Args:
            grads: by name, float32, of the shape of each master weight.
        """
        self.steps += 1
        norm = math.sqrt(sum(float(grad.square().sum()) for grad in grads.values()))
        clip = min(1.0, 1.0 / (norm + 1e-6))
        for name in self.adam:
            grad = grads[name] * clip
            self.first[name].lerp_(grad, 0.1)
            self.second[name].lerp_(grad.square(), 0.02)
            denominator = (self.second[name] / (1 - 0.98**self.steps)).sqrt_().add_(1e-8)
            self.masters[name].addcdiv_(self.first[name], denominator, value=-rate_adam / (1 - 0.9**self.steps))
        shapes: dict[torch.Size, list[str]] = {}
        for name in self.muon:
            shapes.setdefault(self.masters[name].shape, []).append(name)
        stacks = []
        for shape, names in shapes.items():
            for name in names:
                self.first[name].lerp_(grads[name], 0.05)
            stacked = torch.stack([grads[name].lerp(self.first[name], 0.95) for name in names])
            # Queries, keys and values are three matrices in one.
            stacks.append(stacked.view(-1, shape[1], shape[1]) if shape[0] == 3 * shape[1] else stacked)
        for (shape, names), update in zip(shapes.items(), workers.map(orthogonalised, stacks), strict=True):
            scale = 0.2 * math.sqrt(max(update.shape[1:]))
            for name, one in zip(names, update.view(-1, *shape), strict=True):
                self.masters[name].mul_(1 - rate_muon * self.decay).add_(one, alpha=-rate_muon * scale)
        for name, parameter in self.working.items():
            parameter.copy_(self.masters[name])
            self.mean[name].lerp_(self.masters[name], 1 - mean_decay)
        return norm
