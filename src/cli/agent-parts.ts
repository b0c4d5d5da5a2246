/** What an agent is made of, beside what starts its handlers: loaded while those are. */
export { killHosts } from '../carriers/orphans.ts';
export { openSpool } from '../spool/index.ts';
export { systemDisk } from '../system/disk.ts';
export { systemFolderLock } from '../system/folder-lock.ts';
export { systemProcessInfo } from '../system/process-info.ts';
export { InterlockTransport } from '../transports/interlock.ts';
export { proxyFromEnvironment } from '../wire/proxy.ts';
export { Worker } from '../worker/worker.ts';
export { openStatus } from './status/open-status.ts';
export { WorkerReload } from './worker-reload.ts';
