import { hash } from 'node:crypto';
import script from './live.client.js';
import { STYLE } from './style/index.ts';

/** What pages load beside themselves. The address holds a hash of the content, so that it may be kept for ever. */
export interface Asset {
  readonly address: string;
  readonly type: string;
  readonly text: string;
}

/** An L in a frame: legible at 16 pixels, light and dark. */
const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#2457c5"/><path d="M9 16a5 5 0 0 1 5-5h2M23 16a5 5 0 0 1-5 5h-2M12 16h8" stroke="#fff" stroke-width="3" fill="none" stroke-linecap="round"/></svg>';

const assets = {
  style: asset('pages', 'css', 'text/css; charset=utf-8', STYLE),
  script: asset('live', 'js', 'text/javascript; charset=utf-8', script),
  icon: asset('icon', 'svg', 'image/svg+xml', ICON),
};

export const assetAddresses = {
  style: assets.style.address,
  script: assets.script.address,
  icon: assets.icon.address,
};

/** @returns the asset, and whether it is the one that the address means: after an update a page may ask for an older one. */
export function findAsset(path: string): { asset: Asset; exact: boolean } | undefined {
  const [, name, ending] = /^\/assets\/([a-z]+)-[0-9a-f]{12}\.([a-z]+)$/.exec(path) ?? [];
  const found = Object.values(assets).find(
    ({ address }) => address.startsWith(`/assets/${name}-`) && address.endsWith(`.${ending}`),
  );
  return found && { asset: found, exact: found.address === path };
}

function asset(name: string, ending: string, type: string, text: string): Asset {
  const digest = hash('sha256', text, 'hex').slice(0, 12);
  return { address: `/assets/${name}-${digest}.${ending}`, type, text };
}
