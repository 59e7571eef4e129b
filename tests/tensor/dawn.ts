/**
 * Loaded before test files by `deno task test:dawn`: puts Dawn, the WebGPU of Chromium, in the place of Deno's.
 *
 * @module
 */
import { createRequire } from "node:module";

interface Dawn {
  create(toggles: string[]): GPU;
  /** The classes and flags of WebGPU, such as `GPUBufferUsage`. */
  globals: Record<string, unknown>;
}

const { create, globals }: Dawn = createRequire(new URL("dawn/", import.meta.url))("webgpu");
Object.assign(globalThis, globals);
Object.defineProperty(navigator, "gpu", { value: create([]) });

// Dawn polls the device with it, while something is awaited. Deno 2.9 stops calling back after some 200,000 of them
// in `deno test`, and waits for ever; and polling without a pause takes a core from a software driver.
Object.assign(globalThis, { setImmediate: (callback: () => void) => setTimeout(callback, 0) });
