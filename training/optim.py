"""AdamW on float32 masters of weights that may be bfloat16, all in one flat tensor, and a running mean of them.

Frozen weights (the word table) have no master. One flat tensor makes an update one kernel call.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

BETAS = (0.9, 0.98)
EPSILON = 1e-6
MEAN_EVERY = 8


class Optimiser:
    """One step at a time: gradients of the working weights → masters → working weights.

    *Shape:* all state tensors (trained values,) float32.
    """

    def __init__(self, network: nn.Module, decay: float = 0.01) -> None:
        self.names = [name for name, p in network.named_parameters() if p.requires_grad]
        self.working = [p for p in network.parameters() if p.requires_grad]
        self.masters = torch.cat([p.detach().float().reshape(-1) for p in self.working])
        self.mean = self.masters.clone()
        self.first = torch.zeros_like(self.masters)
        self.second = torch.zeros_like(self.masters)
        self.steps = 0
        self.decay = decay
        self._grad = torch.empty_like(self.masters)

    def _pieces(self, flat: Tensor) -> list[Tensor]:
        sizes = [p.numel() for p in self.working]
        return [piece.view(p.shape) for piece, p in zip(flat.split(sizes), self.working, strict=True)]

    @torch.no_grad()
    def step(self, gradient: Sequence[Tensor], rate: float, mean_decay: float) -> float:
        """Apply a gradient; return its norm before it is clipped at 1. A norm that is not finite changes nothing."""
        for total, part in zip(self._pieces(self._grad), gradient, strict=True):
            total.copy_(part)
        norm = float(torch.linalg.vector_norm(self._grad))
        if not math.isfinite(norm):
            return norm
        self.steps += 1
        place = self.masters.device
        # The kernel divides by the scale: mean and clip in one pass.
        scale, steps = (torch.tensor(x, device=place) for x in (max(1.0, norm + 1e-6), float(self.steps)))
        torch._fused_adamw_(
            [self.masters], [self._grad], [self.first], [self.second], [], [steps],
            lr=rate, beta1=BETAS[0], beta2=BETAS[1], weight_decay=self.decay, eps=EPSILON, amsgrad=False,
            maximize=False, grad_scale=scale,
        )  # fmt: skip
        self.publish()
        if self.steps % MEAN_EVERY == 0:
            self.mean.lerp_(self.masters, 1 - mean_decay**MEAN_EVERY)
        return norm

    @torch.no_grad()
    def publish(self) -> None:
        """Copies the masters into the working weights."""
        for working, master in zip(self.working, self._pieces(self.masters), strict=True):
            working.copy_(master)

    def averaged(self) -> dict[str, Tensor]:
        """Name → running mean of a trained weight."""
        return dict(zip(self.names, self._pieces(self.mean), strict=True))
