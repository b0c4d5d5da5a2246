/** The result for people: which case catches which fault. */

export function printed(rows) {
  return rows.flatMap(({ fault, caught, missed, trouble }) => [
    `${trouble || missed.length > 0 ? 'MISSED' : 'caught'}  ${fault.kind}: ${fault.name}`,
    ...caught.map(({ name, says }) => `          ${name}: ${says}`),
    ...missed.map((name) => `  PASSED  ${name}`),
    ...(trouble ? [`  ${trouble}`] : []),
  ]);
}

/** Between its markers in a page: one row for each case of the kit. @param cases names, in the kit's order. */
export function written(page, kind, cases, faults) {
  const begin = `<!-- broken peers: ${kind} -->`;
  const end = `<!-- end of broken peers: ${kind} -->`;
  const from = page.indexOf(begin);
  const to = page.indexOf(end);
  if (from < 0 || to < from) throw new Error(`The page has no "${begin}" … "${end}".`);
  const rows = cases.map((name) => {
    const by = faults.filter((fault) => fault.cases.includes(name)).map((fault) => fault.name);
    return `| \`${name}\` | ${by.join('; ').replaceAll('|', '\\|')} |`;
  });
  const table = [begin, '', '| case | fails against a peer in which |', '|---|---|', ...rows, ''];
  return page.slice(0, from) + table.join('\n') + page.slice(to);
}
