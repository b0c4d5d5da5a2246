import { join } from 'node:path';
import type { Disk, OpenFile } from '../ports/disk.ts';
import type { Mark } from './group-folder.ts';

/** Where a record begins. */
export interface Place {
  readonly file: string;
  readonly offset: number;
}

export type Written =
  | { readonly place: Place; readonly error?: undefined }
  | { readonly place?: undefined; readonly error: unknown };

/** Lines that are to be added. */
export interface Waiting {
  readonly ids: readonly string[];
  readonly text: string;
  readonly bytes: number;
  readonly resolve: (place: Place) => void;
  readonly reject: (error: unknown) => void;
}

/** A file that records are added to. */
export interface Segment {
  readonly name: string;
  readonly file: OpenFile;
  bytes: number;
  /** Its folder is being synced since it was made, or was: then its name is durable. */
  named: Promise<void> | undefined;
  /** A write or a sync of it failed: no record is added any more. */
  failed: boolean;
  readonly open: Set<string>;
  /** Of all records that it ever held. */
  readonly ids: Set<string>;
  readonly marks: Mark[];
  /** One of the marks does not wait for the next record. */
  hurried: boolean;
}

export async function makeSegment(disk: Disk, folder: string, name: string): Promise<Segment> {
  const file = await disk.makeOpen(join(folder, name));
  return {
    ...{ name, file, bytes: 0, named: undefined, failed: false },
    ...{ open: new Set(), ids: new Set(), marks: [], hurried: false },
  };
}
