/** Whose the connections of this machine are. */
export interface SocketOwners {
  /**
   * Whether the other end of a connection within this machine belongs to the user of this process, or to root, who may do all that
   * this user may. `undefined`: the system does not tell. Never rejects.
   */
  ours(ends: SocketEnds): Promise<boolean | undefined>;
}

/** Loopback addresses and ports of a connection, as this process sees them. */
export interface SocketEnds {
  readonly here: SocketEnd;
  readonly there: SocketEnd;
}

export interface SocketEnd {
  readonly address: string;
  readonly port: number;
}
