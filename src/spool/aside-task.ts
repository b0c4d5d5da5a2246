import { join } from 'node:path';
import { spoolDefaults } from '../core/defaults.ts';
import type { Disk } from '../ports/disk.ts';

/**
 * Whose a set-aside is, for the log: its task, by the beginning of its record, without reading a result of many megabytes;
 * else the attempt, by its name. Never rejects.
 */
export async function taskOfAside(disk: Disk, folder: string, name: string): Promise<string> {
  try {
    const head = await disk.readPart(join(folder, name), 0, spoolDefaults.setAsideHeadBytes);
    const text = Buffer.from(head).toString();
    const body = text.indexOf(',"body":{', text.indexOf(',"record":{'));
    const task = body < 0 ? undefined : TASK.exec(text.slice(body))?.[1];
    if (task !== undefined) return task;
  } catch {
    // It goes all the same.
  }
  return ATTEMPT.exec(name)?.[1] ?? name;
}

const TASK = /"taskId":"([A-Za-z0-9_]{1,80})"/;
const ATTEMPT = /^(att_[a-z0-9_]+)-/;
