import { listNames, readNatural } from '../files';
import { knownReadings, metricsOf, opened, source, unavailable, type Reading } from '../source';

const { counter } = metricsOf('edac');

const CONTROLLER = { instance: 'controller' };

const CORRECTED = counter(
  'corrected',
  'count',
  'Memory errors that ECC corrected: a module begins to fail.',
  CONTROLLER,
);
const UNCORRECTED = counter(
  'uncorrected',
  'count',
  'Memory errors that ECC could not correct: the data was lost.',
  CONTROLLER,
);

/** Each memory controller's file of what it counts (Documentation/ABI/testing/sysfs-devices-edac). */
const FILES = [
  ['ce_count', CORRECTED],
  ['ue_count', UNCORRECTED],
] as const;

/** Errors of the node's memory, since the driver was loaded or somebody reset them. */
export const edac = source({
  name: 'edac',
  reads: ['/sys/devices/system/edac/mc/mc*/{ce_count,ue_count}'],
  metrics: [CORRECTED, UNCORRECTED],
  interval: 60,
  open: ({ sys }) => {
    const directory = `${sys}/devices/system/edac/mc`;
    const read = (): readonly Reading[] =>
      listNames(directory)
        .filter((name) => /^mc\d+$/.test(name))
        .flatMap((name) =>
          knownReadings(
            FILES.map(([file, metric]) => [metric, readNatural(`${directory}/${name}/${file}`)]),
            name,
          ),
        );
    return opened(read, () =>
      unavailable(`no memory controller in ${directory}`, 'load the EDAC driver of its chipset'),
    );
  },
});
