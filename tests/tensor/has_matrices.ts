/** Exits with 0 if Dawn's adapter has matrix units; used by newer_mesa.sh. @module */
import { Gpu } from "../../lib/tensor/device.ts";

using gpu = await Gpu.open({ engine: "dawn" });
Deno.exitCode = gpu.info.matrix ? 0 : 1;
