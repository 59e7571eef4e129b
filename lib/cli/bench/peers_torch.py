"""PyTorch on the processor training the same model, for comparison: started by peers.ts.

Reads requests from standard input, a PeerRequest (peers_jax.ts) as JSON a line, and answers each with one line. The
first argument is `eager` or `compiled`, for torch.compile.
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

EPSILON = 1.1920929e-7
ROTATION_BASE = 10000
NEWTON_SCHULZ, NEWTON_SCHULZ_STEPS, NEWTON_SCHULZ_EPSILON = (3.4445, -4.7750, 2.0315), 5, 1e-7


def timed(work):
    start, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, {"seconds": time.perf_counter() - start, "cpuSeconds": time.process_time() - cpu}


def norm(x):
    return F.rms_norm(x, (x.shape[-1],), eps=EPSILON)


class Model:
    def __init__(self, config):
        self.config = config
        length, half = config["sequenceLength"], config["headDim"] // 2
        powers = ROTATION_BASE ** (-torch.arange(half, dtype=torch.float64) / half)
        angles = torch.arange(length, dtype=torch.float64)[:, None] * powers
        self.cos, self.sin = angles.cos().float(), angles.sin().float()

    def rotate(self, x):
        a, b = (norm(x) if self.config["qkNorm"] else x).chunk(2, -1)
        return torch.cat([a * self.cos - b * self.sin, a * self.sin + b * self.cos], -1)

    def activate(self, u):
        kind = self.config["activation"]
        if kind == "relu2":
            return F.relu(u).square()
        return F.gelu(u, approximate="tanh") if kind == "gelu" else F.silu(u)

    def loss(self, p, tokens):
        c = self.config
        batch, length, heads, dim = c["batchSize"], c["sequenceLength"], c["numHeads"], c["headDim"]
        x = F.embedding(tokens, p["wte.weight"])
        for layer in range(c["numLayers"]):
            weight = lambda part: p[f"blocks.{layer}.{part}_proj.weight"]
            h = norm(x)
            q, k, v = (
                F.linear(h, weight(f"attn.{part}")).view(batch, length, heads, dim).transpose(1, 2) for part in "qkv"
            )
            mixed = F.scaled_dot_product_attention(self.rotate(q), self.rotate(k), v, is_causal=True)
            x = x + F.linear(mixed.transpose(1, 2).reshape(batch, length, heads * dim), weight("attn.o"))
            x = x + F.linear(self.activate(F.linear(norm(x), weight("mlp.up"))), weight("mlp.down"))
        z = F.linear(norm(x), p["lm_head.weight"])
        if c["softcap"] is not None:
            z = torch.tanh(z / c["softcap"]) * c["softcap"]
        return F.cross_entropy(z.flatten(0, 1), tokens.flatten())


def orthogonalize(x):
    """Of a stack of matrices."""
    a, b, c = NEWTON_SCHULZ
    is_tall = x.shape[-2] > x.shape[-1]
    x = x.mT if is_tall else x
    x = x / x.norm(dim=(-2, -1), keepdim=True).clamp_min(NEWTON_SCHULZ_EPSILON)
    for _ in range(NEWTON_SCHULZ_STEPS):
        gram = x @ x.mT
        x = a * x + (b * gram + c * (gram @ gram)) @ x
    return x.mT if is_tall else x


class Training:
    def __init__(self, model, compiled):
        config, self.rules, self.max_norm = model["config"], model["rules"], model["maxGradientNorm"]
        with open(model["weightsPath"], "rb") as file:
            values = torch.frombuffer(bytearray(file.read()), dtype=torch.float32)
        sizes = [math.prod(rule["shape"]) for rule in self.rules.values()]
        parts = values.split(sizes)
        self.parameters = {
            name: part.clone().view(rule["shape"]).requires_grad_() for (name, rule), part in zip(self.rules.items(), parts)
        }
        moments = {"muon": ["momentum"], "adamw": ["exp_avg", "exp_avg_sq"]}
        self.state = {
            name: {moment: torch.zeros(rule["shape"]) for moment in moments[rule["kind"]]}
            for name, rule in self.rules.items()
        }
        self.tokens = torch.tensor(model["tokens"]).view(config["batchSize"], config["sequenceLength"])
        compile = torch.compile if compiled else lambda function: function
        self.loss, self.update = compile(Model(config).loss), compile(self.update_all)

    def step(self, numbers):
        # As tensors, a compiled function takes them for what may change.
        numbers = {group: {key: torch.tensor(x) for key, x in n.items()} for group, n in numbers.items()}

        def work():
            loss = self.loss(self.parameters, self.tokens)
            gradients = torch.autograd.grad(loss, list(self.parameters.values()))
            with torch.no_grad():
                self.update(dict(zip(self.parameters, gradients)), numbers)
            return loss.item()

        loss, times = timed(work)
        return {**times, "loss": loss}

    def update_all(self, gradients, numbers):
        squares = torch.stack([gradient.square().sum() for gradient in gradients.values()])
        factor = (self.max_norm / squares.sum().sqrt()).clamp_max(1)
        stacks = {}
        for name, rule in self.rules.items():
            n, state, gradient = numbers[rule["group"]], self.state[name], gradients[name] * factor
            if rule["kind"] == "muon":
                state["momentum"].add_((1 - n["momentum"]) * (gradient - state["momentum"]))
                nesterov = gradient + n["momentum"] * (state["momentum"] - gradient)
                stacks.setdefault(tuple(rule["shape"]), []).append((name, nesterov))
                continue
            m, v = state["exp_avg"], state["exp_avg_sq"]
            m.lerp_(gradient, 1 - rule["beta1"])
            v.lerp_(gradient.square(), 1 - rule["beta2"])
            root = (v / n["biasCorrection2"]).sqrt() + rule["epsilon"]
            self.descend(name, m / n["biasCorrection1"] / root, n)
        for (rows, columns), members in stacks.items():
            updates = orthogonalize(torch.stack([x for _, x in members])) * math.sqrt(max(1, rows / columns))
            for (name, _), update in zip(members, updates):
                self.descend(name, update, numbers[self.rules[name]["group"]])

    def descend(self, name, update, n):
        parameter = self.parameters[name]
        parameter.mul_(1 - n["learningRate"] * n["weightDecay"]).sub_(n["learningRate"] * update)


training = None
for line in sys.stdin:
    request = json.loads(line)
    answer = {}
    if torch is None:
        answer = {"unavailable": missing}
    elif request["kind"] == "model":
        training = Training(request["model"], sys.argv[1] == "compiled")
    elif request["kind"] == "step":
        answer = training.step(request["numbers"])
    print(json.dumps(answer), flush=True)
