/** A disk of a few hundred kilobytes, so that it is full soon. @module */

/** A tmpfs that is mounted until it is disposed of. */
export class SmallDisk implements AsyncDisposable {
  private constructor(readonly path: string) {}

  /**
   * Mounts a disk where the system allows it; says in a line where it does not.
   *
   * @param path An empty folder.
   * @param size As in `700k`.
   */
  static async mount(path: string, size: string): Promise<SmallDisk | undefined> {
    const isRoot = Deno.build.os === "linux" && Deno.uid() === 0;
    Deno.mkdirSync(path, { recursive: true });
    const disk = new SmallDisk(path);
    if (isRoot && await disk.#mount(`size=${size}`)) return disk;
    console.log("not run: a full disk needs a small tmpfs, which only root on Linux can mount");
    return undefined;
  }

  /** Changes the size; what is there stays. */
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
