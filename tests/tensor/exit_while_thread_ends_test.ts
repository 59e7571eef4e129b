import { assertEquals } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { readText } from "../../lib/io/files/inputs.ts";
import { runDeno } from "../cli/process.ts";

const isLinux = Deno.build.os === "linux";
if (!isLinux) {
  console.log("left out: threads of OpenGL that end while the process exits, whose libEGL is Linux's");
}

Deno.test(
  "the test process can exit while a thread that opened WebGPU ends",
  { ignore: !isLinux },
  async () => {
    const { tasks } = JSON.parse(readText(fromFileUrl(new URL("../../deno.json", import.meta.url))));
    const program = fromFileUrl(new URL("./exit_while_thread_ends.ts", import.meta.url));
    for (const name of ["test", "test:long"]) {
      const backends = /^DENO_WEBGPU_BACKEND=(\S+) /.exec(tasks[name].command)?.[1] ?? "vulkan,metal,dx12,gl";
      const env = { DENO_WEBGPU_BACKEND: backends };
      const { code, stdout, stderr } = await runDeno(["--allow-all", program], { env });
      assertEquals([code, stdout, stderr], [0, "opened an adapter\n", ""], `${name} with ${backends}`);
    }
  },
);
