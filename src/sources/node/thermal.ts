import { listNames, readInteger, readText } from '../files';
import { metricsOf, opened, reading, source, unavailable, type Reading } from '../source';
import { celsiusOf } from './celsius';
import { byNumber, namesInOrder, plainName } from './names';

const TEMPERATURE = metricsOf('thermal').gauge(
  'temperature',
  'celsius',
  'Temperature of a thermal zone, by its type (x86_pkg_temp is a CPU package).',
  { resolution: 10, instance: 'zone' },
);

export const thermal = source({
  name: 'thermal',
  reads: ['/sys/class/thermal/thermal_zone*/{type,temp}'],
  metrics: [TEMPERATURE],
  // A zone of the firmware (acpitz) runs its byte code and may wait for an embedded controller.
  blocking: true,
  interval: 30,
  open: ({ sys }) => {
    const directory = `${sys}/class/thermal`;
    const nameOf = namesInOrder();
    const zones = (): readonly string[] =>
      listNames(directory)
        .filter((name) => /^thermal_zone\d+$/.test(name))
        .sort(byNumber);
    const readZone = (zone: string): readonly Reading[] => {
      const type = plainName(readText(`${directory}/${zone}/type`) ?? '');
      const instance = nameOf(`${zone} ${type}`, type === '' ? zone : type);
      const value = celsiusOf(readInteger(`${directory}/${zone}/temp`));
      return value === null ? [] : [reading(TEMPERATURE, value, instance)];
    };
    return opened(
      () => zones().flatMap(readZone),
      () =>
        unavailable(zones().length === 0 ? `no thermal zone in ${directory}` : 'no thermal zone has a valid reading'),
    );
  },
});
