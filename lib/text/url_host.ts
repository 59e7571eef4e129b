/** Hosts in the notation of URLs. @module */

/** A host in the notation of URLs: an IPv6 address in brackets (RFC 3986, section 3.2.2). */
export function urlHost(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}
