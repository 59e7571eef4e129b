/** Programs that only some tests need. @module */

/** Whether some programs are missing, which is printed and which CI does not allow. */
export function programsAreMissing(programs: readonly string[]): boolean {
  const missing = programs.filter((name) =>
    !new Deno.Command("which", { args: [name] }).outputSync().success
  );
  if (missing.length === 0) return false;
  const reason = `there is no ${missing.join(" and no ")}; sh setup.sh --tools installs it`;
  if (Deno.env.get("CI")) throw new Error(reason);
  console.log(`tests of real tools are left out: ${reason}`);
  return true;
}
