/**
 * What the names of all that gateways share in Redis begin with. 2 is the version of what is written there: gateways with another format use
 * another version.
 * @param warehouse names the rows that it is made of. Default: those without a name
 */
export function roomOf(warehouse: string | undefined): string {
  return warehouse === undefined ? 'sqg:2:' : `sqg:2:${warehouse}:`;
}
