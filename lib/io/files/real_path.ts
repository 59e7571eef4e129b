/**
 * Paths as the file system sees them. This module imports no other: the program loads it at every start, before it
 * loads a stage.
 *
 * @module
 */

const [SEPARATORS, ROOT] = Deno.build.os === "windows" ? [/[/\\]+/, /^([A-Za-z]:)?[/\\]/] : [/\/+/, /^\//];

/**
 * The path without links. Parts that do not exist or may not be read are kept as they are.
 *
 * @param path An absolute path, or one of the current folder.
 */
export function realPath(path: string): string {
  try {
    return Deno.realPathSync(path);
  } catch { /* the part of it that can be followed counts */ }
  const whole = absolutePath(path);
  const folder = folderOf(whole);
  if (folder === whole) return whole;
  const realFolder = realPath(folder);
  try {
    return realPath(absolutePath(Deno.readLinkSync(whole), realFolder));
  } catch {
    return `${realFolder === "/" ? "" : realFolder}/${nameOf(whole)}`;
  }
}

/** A path without `.` and `..`. @param folder The base folder of a relative path. */
export function absolutePath(path: string, folder: string = Deno.cwd()): string {
  const names: string[] = [];
  for (const name of (ROOT.test(path) ? path : `${folder}/${path}`).split(SEPARATORS)) {
    if (name === ".." && names.length > 1) names.pop();
    else if (names.length === 0 || !["", ".", ".."].includes(name)) names.push(name);
  }
  return names.length > 1 ? names.join("/") : `${names[0]}/`;
}

/** The folder of an absolute path; the root's folder is the root. */
export function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/")) || "/";
}

/** The last name of an absolute path. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
