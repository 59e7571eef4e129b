/** A disk of a few hundred kilobytes, which is soon full. @module */
import { TemporaryFolder } from "./temporary_folder.ts";

/** A tmpfs that is mounted until disposal. */
export class SmallDisk implements AsyncDisposable {
  private constructor(readonly path: string) {}

  /** Whether the system allows it; prints a line if not. */
  static async isPossible(): Promise<boolean> {
    if (Deno.build.os === "linux" && Deno.uid() === 0) {
      using folder = new TemporaryFolder();
      const disk = new SmallDisk(folder.path);
      const isMounted = await disk.#mount("size=100k");
      await disk[Symbol.asyncDispose]();
      if (isMounted) return true;
    }
    console.log("left out: a full disk needs a small tmpfs, which only root on Linux can mount");
    return false;
  }

  /**
   * Mounts a disk.
   *
   * @param path An empty folder.
   * @param size Such as `700k`.
   */
  static async mount(path: string, size: string): Promise<SmallDisk> {
    Deno.mkdirSync(path, { recursive: true });
    const disk = new SmallDisk(path);
    if (!await disk.#mount(`size=${size}`)) throw new Error(`no disk of ${size} can be mounted`);
    return disk;
  }

  async resize(size: string): Promise<void> {
    if (!await this.#mount(`remount,size=${size}`)) throw new Error(`the disk cannot be resized to ${size}`);
  }

  async #mount(options: string): Promise<boolean> {
    const args = ["-t", "tmpfs", "-o", options, "tmpfs", this.path];
    return (await new Deno.Command("mount", { args, stderr: "null" }).output()).success;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Deno.Command("umount", { args: [this.path] }).output();
  }
}
