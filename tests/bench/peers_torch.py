"""PyTorch training the same model, for comparison: started by peers.ts.

Prints its device, then answers each request (a PeerRequest of peers_jax.ts as a line of JSON) with one line. The
arguments: `eager` or `compiled` (torch.compile), `f32` or `bf16`, `cpu` or `cuda`. In f32 products are true f32, not
TF32. In bf16 autocast rounds the operands of products and attention, as Muon's iteration does; parameters are f32.
"""

import json
import math
import sys
import time

try:
    import torch
    import torch.nn.functional as F
except Exception as error:
    torch, missing = None, f"python3 has no torch: {error}"

MODE, DTYPE, DEVICE = sys.argv[1:]
EPSILON = 1.1920929e-7
ROTATION_BASE = 10000
NEWTON_SCHULZ, NEWTON_SCHULZ_STEPS, NEWTON_SCHULZ_EPSILON = (3.4445, -4.7750, 2.0315), 5, 1e-7


def synchronize():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def timed(work):
    synchronize()
    start, cpu = time.perf_counter(), time.process_time()
    result = work()
    synchronize()
    return result, {"seconds": time.perf_counter() - start, "cpuSeconds": time.process_time() - cpu}


def norm(x):
    return F.rms_norm(x, (x.shape[-1],), eps=EPSILON)


class Model:
    def __init__(self, config):
        self.config = config
        length, half = config["sequenceLength"], config["headDim"] // 2
        powers = ROTATION_BASE ** (-torch.arange(half, dtype=torch.float64) / half)
        angles = torch.arange(length, dtype=torch.float64)[:, None] * powers
        self.cos, self.sin = (part.float().to(DEVICE) for part in (angles.cos(), angles.sin()))

    def rotate(self, x):
        a, b = (norm(x) if self.config["qkNorm"] else x).chunk(2, -1)
        return torch.cat([a * self.cos - b * self.sin, a * self.sin + b * self.cos], -1)

    def activate(self, u):
        kind = self.config["activation"]
        if kind == "relu2":
            return F.relu(u).square()
        return F.gelu(u, approximate="tanh") if kind == "gelu" else F.silu(u)

    def loss(self, p, tokens):
        with torch.autocast(DEVICE, torch.bfloat16, enabled=DTYPE == "bf16"):
            return self.mean_loss(p, tokens)

    def mean_loss(self, p, tokens):
        c = self.config
        batch, length, heads, dim = c["batchSize"], c["sequenceLength"], c["numHeads"], c["headDim"]
        x = F.embedding(tokens, p["wte.weight"])
        for layer in range(c["numLayers"]):
            weight = lambda part: p[f"blocks.{layer}.{part}_proj.weight"]
            h = norm(x)
            q, k, v = (
                F.linear(h, weight(f"attn.{part}")).view(batch, length, heads, dim).transpose(1, 2) for part in "qkv"
            )
            q, k = (self.rotate(x).to(v.dtype) for x in (q, k))
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + F.linear(mixed.transpose(1, 2).reshape(batch, length, heads * dim), weight("attn.o"))
            x = x + F.linear(self.activate(F.linear(norm(x), weight("mlp.up"))), weight("mlp.down"))
        z = F.linear(norm(x), p["lm_head.weight"]).float()
        if c["softcap"] is not None:
            z = torch.tanh(z / c["softcap"]) * c["softcap"]
        return F.cross_entropy(z.flatten(0, 1), tokens.flatten())


def orthogonalize(x):
    """Of a stack of matrices."""
    a, b, c = NEWTON_SCHULZ
    is_tall = x.shape[-2] > x.shape[-1]
    x = x.mT if is_tall else x
    x = x / x.norm(dim=(-2, -1), keepdim=True).clamp_min(NEWTON_SCHULZ_EPSILON)
    x = x.bfloat16() if DTYPE == "bf16" else x
    for _ in range(NEWTON_SCHULZ_STEPS):
        gram = x @ x.mT
        x = a * x + (b * gram + c * (gram @ gram)) @ x
    return (x.mT if is_tall else x).float()


class Stack:
    """The parameters of a shape with one rule, in one tensor, so that an update takes few kernels."""

    def __init__(self, names, rule, values):
        self.names, self.rule = names, rule
        self.values = torch.stack(values).to(DEVICE)
        moments = ["momentum"] if rule["kind"] == "muon" else ["exp_avg", "exp_avg_sq"]
        self.state = {moment: torch.zeros_like(self.values) for moment in moments}

    def update(self, gradient, n):
        rule, state = self.rule, self.state
        if rule["kind"] == "muon":
            state["momentum"].add_((1 - n["momentum"]) * (gradient - state["momentum"]))
            rows, columns = rule["shape"]
            nesterov = gradient + n["momentum"] * (state["momentum"] - gradient)
            change = orthogonalize(nesterov) * math.sqrt(max(1, rows / columns))
        else:
            m, v = state["exp_avg"], state["exp_avg_sq"]
            m.lerp_(gradient, 1 - rule["beta1"])
            v.lerp_(gradient.square(), 1 - rule["beta2"])
            root = (v / n["biasCorrection2"]).sqrt() + rule["epsilon"]
            change = m / n["biasCorrection1"] / root
        self.values.mul_(1 - n["learningRate"] * n["weightDecay"]).sub_(n["learningRate"] * change)


class Training:
    def __init__(self, model):
        config, rules, self.max_norm = model["config"], model["rules"], model["maxGradientNorm"]
        with open(model["weightsPath"], "rb") as file:
            values = torch.frombuffer(bytearray(file.read()), dtype=torch.float32)
        parts = dict(zip(rules, values.split([math.prod(rule["shape"]) for rule in rules.values()])))
        alike = {}
        for name, rule in rules.items():
            alike.setdefault((rule["group"], *rule["shape"]), []).append(name)
        self.stacks = [
            Stack(names, rules[names[0]], [parts[name].view(rules[name]["shape"]) for name in names])
            for names in alike.values()
        ]
        # They share memory with their stack.
        self.parameters = {
            name: part.detach().requires_grad_()
            for stack in self.stacks
            for name, part in zip(stack.names, stack.values)
        }
        self.tokens = torch.tensor(model["tokens"], device=DEVICE).view(config["batchSize"], config["sequenceLength"])
        compile = torch.compile if MODE == "compiled" else lambda function: function
        self.loss, self.update = compile(Model(config).loss), compile(self.update_all)

    def steps(self, numbers):
        # A compiled function treats tensors, unlike numbers, as values that may change.
        as_tensors = lambda n: {key: torch.tensor(x, device=DEVICE) for key, x in n.items()}
        numbers = [{group: as_tensors(n) for group, n in groups.items()} for groups in numbers]
        loss, times = timed(lambda: [self.step(groups) for groups in numbers][-1])
        return {**times, "loss": loss.item()}

    def step(self, numbers):
        loss = self.loss(self.parameters, self.tokens)
        gradients = torch.autograd.grad(loss, list(self.parameters.values()))
        gradients = dict(zip(self.parameters, gradients))
        with torch.no_grad():
            self.update([torch.stack([gradients[name] for name in stack.names]) for stack in self.stacks], numbers)
        return loss.detach()

    def update_all(self, gradients, numbers):
        squares = torch.stack([gradient.square().sum() for gradient in gradients])
        factor = (self.max_norm / squares.sum().sqrt()).clamp_max(1)
        for stack, gradient in zip(self.stacks, gradients):
            stack.update(gradient * factor, numbers[stack.rule["group"]])


def start():
    if torch is None:
        return {"unavailable": missing}
    if DEVICE == "cuda" and not torch.cuda.is_available():
        return {"unavailable": "python3's torch finds no GPU with CUDA"}
    torch.set_float32_matmul_precision("highest")
    return {"device": torch.cuda.get_device_name() if DEVICE == "cuda" else "the processor"}


training = None
print(json.dumps(start()), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    answer = {}
    if "model" in request:
        training = Training(request["model"])
    else:
        answer = training.steps(request["numbers"])
    print(json.dumps(answer), flush=True)
