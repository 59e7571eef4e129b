"""Golden values of the model and its training, by PyTorch: what tests/model/pytorch_parity_test.ts is held against.

An implementation of the design (rmsNorm, rotation of halves, shifted keys, learned rows, segments, relu^2, softcap,
torch.optim.Muon and AdamW) that shares no code with the one in TypeScript. Writes one CASE.safetensors for each case:
weights, capped logits, losses, every gradient, and the losses of 20 optimizer steps, in float32. Versions and findings:
PROVENANCE.md.

Run: pip install torch==2.15.0 safetensors==0.8.0 numpy==2.4.6; python make.py [CASE ...]
"""

import inspect
import json
import math
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F
from torch.optim import _muon

HERE = Path(__file__).parent
CONTENT = json.loads((HERE / "batches.json").read_text())
NUM_STEPS = 20
# Logits are kept of every so many positions; the losses are kept of all.
LOGIT_STRIDE = 4
NEWTON_SCHULZ_SOURCE = inspect.getsource(_muon._zeropower_via_newtonschulz)
assert "torch.bfloat16" in NEWTON_SCHULZ_SOURCE

MODEL = {
    "numLayers": 2, "width": 32, "numHeads": 2, "headDim": 32, "mlpWidth": 48, "sequenceLength": 64,
    "vocabulary": "v2", "activation": "relu2", "softcap": 15, "qkNorm": True,
}
MUON = {
    "kind": "muon", "learningRate": 0.02, "momentum": 0.95, "initialMomentum": 0.85, "momentumWarmupSteps": 10,
    "weightDecay": 0.1,
}


def adamw(learning_rate):
    return {
        "kind": "adamw", "learningRate": learning_rate, "beta1": 0.8, "beta2": 0.95, "epsilon": 1e-8,
        "weightDecay": 0.1,
    }


def optim(matrices, **others):
    groups = {"embedding": adamw(0.1), "head": adamw(0.004), "matrices": matrices, **others}
    return {"maxGradientNorm": 1, "warmupShare": 0.1, "decayShare": 0.5, "groups": groups}


TINY = {**MODEL, "numLayers": 1, "width": 12, "mlpWidth": 20, "numHeads": 1}
CASES = {
    "relu2": (MODEL, optim(MUON)),
    "gelu": ({**TINY, "activation": "gelu", "softcap": None}, optim(MUON)),
    "silu": (
        {**TINY, "activation": "silu", "qkNorm": False, "headDim": 64, "vocabulary": "v1"},
        optim(adamw(0.004)),
    ),
    "rows": (
        {**TINY, "numHeads": 2, "keyShift": True, **CONTENT["learnedRows"]["model"]},
        optim(MUON, rows=adamw(0.05)),
    ),
}

ACTIVATIONS = {
    "relu2": lambda x: F.relu(x).square(),
    "gelu": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
}


def rms_norm(x):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1.1920929e-7)


def rotate(x):
    """Rotates the halves of each head: x is (B, T, H, D)."""
    half = x.shape[-1] // 2
    frequency = 10000.0 ** (-torch.arange(half, dtype=torch.float64) / half)
    angle = torch.arange(x.shape[1], dtype=torch.float64)[:, None] * frequency
    cos, sin = (f(angle).to(x.dtype)[:, None, :] for f in (torch.cos, torch.sin))
    x1, x2 = x[..., :half], x[..., half:]
    return torch.cat([x1 * cos - x2 * sin, x1 * sin + x2 * cos], -1)


def shift_keys(k, is_first):
    """The 2nd and the 4th quarter of each head from the token before, if it is of the segment: k is (B, T, H, D)."""
    own = k.unflatten(-1, (4, -1))
    before = torch.where(is_first[:, :, None, None, None], own, own.roll(1, dims=1))
    return torch.stack([own[..., 0, :], before[..., 1, :], own[..., 2, :], before[..., 3, :]], -2).flatten(-2)


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        width, inner = config["width"], config["numHeads"] * config["headDim"]
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(width, inner, bias=False) for _ in range(3))
        self.o_proj = nn.Linear(inner, width, bias=False)

    def forward(self, x, mask, is_first):
        heads = (*x.shape[:2], self.config["numHeads"], self.config["headDim"])
        q, k, v = (proj(x).view(heads) for proj in (self.q_proj, self.k_proj, self.v_proj))
        if self.config["qkNorm"]:
            q, k = rms_norm(q), rms_norm(k)
        q, k = rotate(q), rotate(k)
        if self.config.get("keyShift"):
            k = shift_keys(k, is_first)
        q, k, v = (part.transpose(1, 2) for part in (q, k, v))
        scores = q @ k.transpose(-1, -2) / math.sqrt(heads[-1])
        out = scores.masked_fill(~mask[:, None], -math.inf).softmax(-1) @ v
        return self.o_proj(out.transpose(1, 2).reshape(*x.shape[:2], -1))


class Mlp(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.activation = ACTIVATIONS[config["activation"]]
        self.up_proj = nn.Linear(config["width"], config["mlpWidth"], bias=False)
        self.down_proj = nn.Linear(config["mlpWidth"], config["width"], bias=False)

    def forward(self, x):
        return self.down_proj(self.activation(self.up_proj(x)))


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.attn, self.mlp = Attention(config), Mlp(config)

    def forward(self, x, mask, is_first):
        x = x + self.attn(rms_norm(x), mask, is_first)
        return x + self.mlp(rms_norm(x))


class Transformer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.softcap = config["softcap"]
        vocab_size = {"v1": 266, "v2": 267}[config["vocabulary"]]
        self.wte = nn.Embedding(vocab_size, config["width"])
        has_rows = config.get("prefixVectors")
        self.address_embed = nn.Embedding(CONTENT["learnedRows"]["numRows"], config["width"]) if has_rows else None
        self.blocks = nn.ModuleList(Block(config) for _ in range(config["numLayers"]))
        self.lm_head = nn.Linear(config["width"], vocab_size, bias=False)

    def forward(self, tokens, segment_start, rows=None):
        """Capped logits (B, T, V) of tokens (B, T) with the learned rows (B, T, any), -1 for none."""
        t = torch.arange(tokens.shape[1])
        mask = (t[None, None, :] <= t[None, :, None]) & (t[None, None, :] >= segment_start[:, :, None])
        x = self.wte(tokens)
        if self.address_embed:
            # No row is the last one, of zeros.
            x = x + F.pad(self.address_embed.weight, (0, 0, 0, 1))[rows].sum(2)
        for block in self.blocks:
            x = block(x, mask, segment_start == t)
        logits = self.lm_head(rms_norm(x))
        return logits if self.softcap is None else self.softcap * torch.tanh(logits / self.softcap)


def losses_of(model, batch):
    """Capped logits (B, T, V) and losses (B, T), 0 where masked."""
    logits = model(batch["tokens"], batch["segmentStart"], batch.get("addressRows"))
    losses = F.cross_entropy(logits.flatten(0, 1), batch["targets"].flatten(), reduction="none")
    return logits, losses.view_as(batch["targets"]) * batch["lossMask"]


def mean_loss(model, batch):
    return losses_of(model, batch)[1].sum() / batch["lossMask"].sum()


def named_rows(batch):
    """The learned rows of a batch's tokens, ascending."""
    rows = batch["addressRows"].unique()
    return rows[rows >= 0]


def use_newton_schulz(dtype):
    """Lets torch.optim.Muon compute the Newton-Schulz steps in this type; its source says bfloat16."""
    exec(NEWTON_SCHULZ_SOURCE.replace("torch.bfloat16", f"torch.{dtype}"), _muon.__dict__)


def make_optimizers(model, config):
    """Each with its group's configuration; each learned row is a parameter by itself, so that it counts its updates."""
    matrices = [p for name, p in model.named_parameters() if name.startswith("blocks.")]
    members = {"embedding": [model.wte.weight], "head": [model.lm_head.weight], "matrices": matrices}
    if model.address_embed:
        members["rows"] = [nn.Parameter(row) for row in model.address_embed.weight.data]
    made = []
    for name, parameters in members.items():
        group = config["groups"][name]
        if group["kind"] == "muon":
            made.append((torch.optim.Muon(parameters), group))
        else:
            betas = (group["beta1"], group["beta2"])
            made.append((torch.optim.AdamW(parameters, betas=betas, eps=group["epsilon"]), group))
    return made


def schedule(optimizer, group, config, width, step):
    """Sets the numbers of one step: WSD, decaying weight decay, momentum warm-up."""
    warmup, decay = (round(NUM_STEPS * config[key]) for key in ("warmupShare", "decayShare"))
    factor = min(1, (step + 1) / warmup, (NUM_STEPS - step) / decay) * (width / 768) ** -0.5
    settings = optimizer.param_groups[0]
    settings["lr"] = group["learningRate"] * factor
    settings["weight_decay"] = group["weightDecay"] * (1 - step / NUM_STEPS)
    if group["kind"] == "muon":
        share = min(1, step / group["momentumWarmupSteps"])
        settings["momentum"] = (1 - share) * group["initialMomentum"] + share * group["momentum"]


def give_gradients(parameters, gradient, named):
    """Those of the rows that are named; the others have none, and no update."""
    for parameter in parameters:
        parameter.grad = None
    for row in named:
        parameters[row].grad = gradient[row]


def train(model, batches, config, width):
    """The loss before each step, and after the last."""
    optimizers = make_optimizers(model, config)
    losses = []
    for step in range(NUM_STEPS):
        model.zero_grad()
        batch = batches[step % len(batches)]
        loss = mean_loss(model, batch)
        loss.backward()
        losses.append(loss.item())
        nn.utils.clip_grad_norm_(model.parameters(), config["maxGradientNorm"])
        if model.address_embed:
            rows, gradient = optimizers[-1][0].param_groups[0]["params"], model.address_embed.weight.grad
            give_gradients(rows, gradient, named_rows(batch))
        for optimizer, group in optimizers:
            schedule(optimizer, group, config, width, step)
            optimizer.step()
    with torch.no_grad():
        losses.append(mean_loss(model, batches[0]).item())
    return torch.tensor(losses, dtype=torch.float64)


def initial_weights(config):
    """Large enough that every part has a say (0.02 leaves attention uniform), small embeddings, which show eps."""
    torch.manual_seed(1)
    with torch.no_grad():
        model = Transformer(config)
        for name, parameter in model.named_parameters():
            is_embedding = name.startswith(("wte", "address_embed"))
            parameter.normal_(std=0.02 if is_embedding else 1.5 / math.sqrt(parameter.shape[1]))
    return model.state_dict()


def run_case(config, optim_config, batches, dtype, newton_schulz):
    model = Transformer(config)
    model.load_state_dict(initial_weights(config))
    model.to(dtype)
    logits, losses = losses_of(model, batches[0])
    mean_loss(model, batches[0]).backward()
    gradients = {name: p.grad.clone() for name, p in model.named_parameters()}
    if model.address_embed:
        whole, named = gradients["address_embed.weight"], named_rows(batches[0])
        assert not whole.index_fill(0, named, 0).any()
        gradients["address_embed.weight"] = whole[named]
    values = {
        "logits": logits.detach().flatten(0, 1)[::LOGIT_STRIDE].contiguous(),
        "losses": losses.detach(),
        **{f"gradients.{name}": gradient for name, gradient in gradients.items()},
    }
    use_newton_schulz(newton_schulz)
    return values, train(model, batches, optim_config, config["width"])


def difference(a, b):
    """The largest over the tensors of the largest difference by the largest value."""
    return max(((a[name] - b[name]).abs().max() / b[name].abs().max()).item() for name in b)


def read_batches(name):
    """Each tensor (B, T), of the rows (B, T, any)."""
    shape = (CONTENT["batchSize"], CONTENT["sequenceLength"], -1)
    return [
        {key: torch.tensor(values).view(shape).squeeze(-1) for key, values in batch.items()}
        for batch in CONTENT[name]
    ]


def main():
    for name in sys.argv[1:] or CASES:
        config, optim_config = CASES[name]
        batches = read_batches("rows" if config.get("prefixVectors") else config["vocabulary"])
        values, steps = run_case(config, optim_config, batches, torch.float32, "float32")
        exact, exact_steps = run_case(config, optim_config, batches, torch.float64, "float64")
        _, bfloat16_steps = run_case(config, optim_config, batches, torch.float32, "bfloat16")
        print(
            f"{name}: float32 from float64: {difference(values, exact):.1e}, "
            f"after {NUM_STEPS} steps {((steps - exact_steps).abs() / exact_steps).max():.1e}, "
            f"with bfloat16 Newton-Schulz {((bfloat16_steps - exact_steps).abs() / exact_steps).max():.1e}; "
            f"losses {steps[0]:.4f} to {steps[-1]:.4f}"
        )
        weights = {f"weights.{key}": value for key, value in initial_weights(config).items()}
        metadata = {
            "torch": torch.__version__, "numSteps": str(NUM_STEPS), "logitStride": str(LOGIT_STRIDE),
            "model": json.dumps(config), "optim": json.dumps(optim_config),
        }
        save_file({**values, **weights, "stepLosses": steps.float()}, HERE / f"{name}.safetensors", metadata)


if __name__ == "__main__":
    main()
