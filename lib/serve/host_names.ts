/**
 * Refuses requests that name another host (DNS rebinding).
 *
 * A page of any site can have its own name resolve to 127.0.0.1 and so ask a server that listens there, with itself as
 * the origin. A server that listens on the loopback interface answers requests for names of this machine only. One that
 * others can reach anyway answers all names.
 *
 * @module
 */
import { ApiError } from "../api/api_error.ts";
import { shortened } from "../errors.ts";
import { urlHost } from "../text/url_host.ts";

/** With the final dot of a fully qualified name, which some clients send (RFC 1034, section 3.1). */
const LOOPBACK = /^(?:localhost\.?|.*\.localhost\.?|127(?:\.\d+){3}|\[::1\])$/;

/** The hosts that a server answers for. */
export class HostNames {
  readonly #isAny: boolean;
  readonly #names: ReadonlySet<string>;

  /**
   * Takes the place of a server.
   *
   * @param host The address that it listens at.
   * @param allowOrigins Their hosts are taken too: the server may be behind a proxy that passes names on.
   */
  constructor(host: string, allowOrigins: readonly string[]) {
    this.#isAny = !LOOPBACK.test(urlHost(host)) || allowOrigins.includes("*");
    this.#names = new Set(
      allowOrigins.filter((origin) => origin !== "*").map((origin) => new URL(origin).hostname),
    );
  }

  /** @throws {ApiError} 421 if a URL names another host, 400 if it names what cannot be one. */
  require(url: string): void {
    const hostname = URL.parse(url)?.hostname;
    if (hostname === undefined) {
      throw new ApiError(400, `Cannot read the request: ${shortened(url)} is no URL; expected a path`);
    }
    if (this.#isAny || LOOPBACK.test(hostname) || this.#names.has(hostname)) return;
    throw new ApiError(
      421,
      `Cannot answer for the host ${
        shortened(hostname)
      }: a name of this machine such as localhost was wanted; ` +
        "start the server with --allow-origin and the origin that people use",
    );
  }
}
