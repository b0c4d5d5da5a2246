/** The result for people: on the terminal, and as `docs/mutations.md`. */

export function printed(rows) {
  const lines = rows.map(({ mutation, sim, tests }) => [
    sim?.broke || tests?.failed.length > 0 ? 'caught' : 'SURVIVED',
    mutation.name,
    sim === undefined
      ? 'not played'
      : sim.broke
        ? `${where(sim.broke)} after ${sim.runs} seed${sim.runs === 1 ? '' : 's'}`
        : `not in ${sim.runs} seeds`,
    tests?.failed[0] ?? '',
  ]);
  const widths = [0, 1, 2].map((i) => Math.max(...lines.map((line) => line[i].length)));
  return lines.map((line) =>
    line
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

export function summary(rows) {
  const sim = rows.filter((row) => row.sim?.broke).length;
  const tests = rows.filter((row) => row.tests?.failed.length > 0).length;
  const caught = rows.filter((row) => row.sim?.broke || row.tests?.failed.length > 0).length;
  return `${caught} of ${rows.length} caught, ${sim} by the simulator, ${tests} by tests; ${rows.length - caught} survived.`;
}

export function page(rows) {
  const cell = (text) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
  const lines = rows.map(({ mutation, sim, tests }) => {
    const inSim = sim?.broke
      ? `\`${sim.broke.checker}\`: ${sim.broke.world ?? '–'} ${sim.broke.seed ?? ''} (${sim.runs})`
      : `– ${mutation.unseen ?? `(not in ${sim?.runs ?? 0} seeds)`}`;
    const [first] = tests?.failed ?? [];
    const inTests = first ?? (tests ? '–' : `(${mutation.tests.join(', ')})`);
    return `| ${cell(mutation.name)} | ${cell(inSim)} | ${cell(inTests)} |`;
  });
  return `# Planted bugs and what catches them

Written by \`npm run mutations -- --write\` (with \`--full\` also the tests of those that the simulator catches); the list is
in \`scripts/mutations/\`. ${summary(rows)}
Simulator: the rule that broke, in which world and seed (and how many seeds that took); \`npm run sim -- --list\` tells
worlds and rules. A dash says why the simulator does not see it. Tests in parentheses were not needed this time.

| planted | simulator | first test to fail |
|---|---|---|
${lines.join('\n')}
`;
}

const where = ({ world, seed, checker }) =>
  world === undefined ? checker : `${world} ${seed}: ${checker}`;
