/** Takes the content encodings of an answer off. What is read is bounded by whoever reads: nothing is decoded ahead of him. */
import type { IncomingMessage } from 'node:http';
import { Duplex, pipeline, type Readable } from 'node:stream';
import type { Inflate, InflateRaw, ZlibOptions } from 'node:zlib';

/** The body as it was before it was encoded; as it came where a coding is unknown. */
export function decoded(response: IncomingMessage): Readable | Promise<Readable> {
  const said = response.headers['content-encoding'];
  return said === undefined || said === '' ? response : withoutCodings(response, said);
}

async function withoutCodings(response: IncomingMessage, said: string): Promise<Readable> {
  const codings = said.split(',').map((one) => one.trim().toLowerCase());
  if (codings.length > CODINGS_MAX) {
    response.destroy();
    throw Object.assign(new Error(`${codings.length} content encodings`), { code: 'Z_TOO_MANY' });
  }
  if (codings.some((one) => !KNOWN.has(one))) return response;
  // Only where something is encoded: an agent on a plain connection never loads it.
  const zlib = await import('node:zlib');
  // What a peer has flushed is seen at once, and an end that lacks its checksum is an end.
  const gentle = { flush: zlib.constants.Z_SYNC_FLUSH, finishFlush: zlib.constants.Z_SYNC_FLUSH };
  const decoders = codings.toReversed().map((one): Duplex => {
    if (one === 'br') {
      const flush = zlib.constants.BROTLI_OPERATION_FLUSH;
      return zlib.createBrotliDecompress({ flush, finishFlush: flush });
    }
    return one === 'deflate' ? inflated(zlib, gentle) : zlib.createGunzip(gentle);
  });
  const last = decoders.at(-1) as Duplex;
  // Its error comes out of the last one.
  pipeline([response, ...decoders], () => {});
  return last;
}

/** `deflate` is zlib's format, and raw where a server has misread that; the first byte tells. */
function inflated(zlib: typeof import('node:zlib'), gentle: ZlibOptions): Duplex {
  let inner: Inflate | InflateRaw | undefined;
  return new Duplex({
    write(chunk: Uint8Array, _, done) {
      if (!inner) {
        const raw = ((chunk[0] ?? 0) & 0x0f) !== 0x08;
        inner = raw ? zlib.createInflateRaw(gentle) : zlib.createInflate(gentle);
        inner.on('data', (more) => this.push(more) || inner?.pause());
        inner.on('end', () => this.push(null)).on('error', (error) => this.destroy(error));
      }
      inner.write(chunk, done);
    },
    final(done) {
      if (inner) inner.end(done);
      else {
        this.push(null);
        done();
      }
    },
    read() {
      inner?.resume();
    },
    destroy(error, done) {
      inner?.destroy();
      done(error);
    },
  });
}

const KNOWN = new Set(['gzip', 'x-gzip', 'deflate', 'br']);
/** More than any server uses: a chain of them only costs its reader. */
const CODINGS_MAX = 5;
