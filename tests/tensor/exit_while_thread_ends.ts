/**
 * Shows that a process aborts if it exits while a thread that opened WebGPU's OpenGL ends: `exit()` makes
 * libEGL free its per-thread data, and the thread's end frees them again (libglvnd 1.6.0:
 * `__eglCurrentTeardown()` leaves the key whose destructor is `OnThreadDestroyed()`). `deno test` exits while
 * the threads of the test files end.
 *
 * Run: `deno run -A tests/tensor/exit_while_thread_ends.ts`, on Linux with libEGL. The exit code is 134
 * ("double free or corruption", "corrupted size vs. prev_size in fastbins") or 139. With
 * `DENO_WEBGPU_BACKEND=vulkan` it is 0. Here the thread sleeps before libEGL's destructor, and the process at
 * its very end, so that they meet in every run.
 */
import { until } from "../until.ts";

const THREAD_S = 0.5;
const EXIT_S = 1.5;

const libc = Deno.dlopen("libc.so.6", {
  dlsym: { parameters: ["pointer", "buffer"], result: "pointer" },
  popen: { parameters: ["buffer", "buffer"], result: "pointer" },
  setvbuf: { parameters: ["pointer", "buffer", "i32", "usize"], result: "i32" },
  fwrite: { parameters: ["buffer", "usize", "usize", "pointer"], result: "usize" },
  pthread_key_create: { parameters: ["buffer", "pointer"], result: "i32" },
  pthread_setspecific: { parameters: ["u32", "pointer"], result: "i32" },
}).symbols;
const cString = (text: string) => new TextEncoder().encode(`${text}\0`);

const { searchParams } = new URL(import.meta.url);
if (searchParams.has("key")) {
  const us = Deno.UnsafePointer.create(BigInt(1e6 * THREAD_S));
  libc.pthread_setspecific(Number(searchParams.get("key")), us);
  const adapter = await navigator.gpu.requestAdapter();
  (globalThis as unknown as Worker).postMessage(adapter ? "opened an adapter" : "no adapter");
} else {
  // Destructors with a lower key run first, and libEGL makes its key when it is opened.
  const key = new Uint32Array(1);
  libc.pthread_key_create(key, libc.dlsym(null, cString("usleep")));
  const worker = new Worker(`${import.meta.url}?key=${key[0]}`, { type: "module" });
  console.log(await new Promise((resolve) => worker.onmessage = ({ data }) => resolve(data)));

  // The last thing exit() does is to flush file buffers, and nobody reads this one.
  const pipe = libc.popen(cString(`sleep ${EXIT_S}`), cString("w"));
  const buffer = new Uint8Array(1 << 20);
  libc.setvbuf(pipe, buffer, 0, BigInt(buffer.length));
  libc.fwrite(buffer.slice(1), 1n, BigInt(buffer.length - 1), pipe);
  worker.terminate();
  const isOpen = () => Deno.readTextFileSync("/proc/self/maps").includes("libvulkan.so");
  await until("WebGPU is closed", () => !isOpen());
  Deno.exit(buffer[0]);
}
