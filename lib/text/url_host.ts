/** Hosts as addresses of the web have them. @module */

/** A host as it stands in a URL: an IPv6 address in brackets (RFC 3986, section 3.2.2). */
export function urlHost(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}
