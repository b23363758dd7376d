import { listNames, readInteger, readText } from '../files';
import { source, unavailable, type Metric, type Reading, type Unavailable } from '../source';
import { celsiusOf } from './celsius';
import { byNumber, namesInOrder, plainName } from './names';

const TEMPERATURE: Metric = {
  name: 'thermal_temperature_celsius',
  unit: 'celsius',
  kind: 'gauge',
  scope: 'node',
  resolution: 10,
  instance: 'zone',
  help: 'Temperature of a thermal zone, by its type (x86_pkg_temp is a CPU package).',
};

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
    const read = (): readonly Reading[] | Unavailable => {
      const zones = listNames(directory)
        .filter((name) => /^thermal_zone\d+$/.test(name))
        .sort(byNumber);
      const readings = zones.flatMap((zone): readonly Reading[] => {
        const type = plainName(readText(`${directory}/${zone}/type`) ?? '');
        const instance = nameOf(`${zone} ${type}`, type === '' ? zone : type);
        const value = celsiusOf(readInteger(`${directory}/${zone}/temp`));
        return value === null ? [] : [{ metric: TEMPERATURE.name, instance, value }];
      });
      if (readings.length > 0) return readings;
      return unavailable(
        zones.length === 0 ? `no thermal zone in ${directory}` : 'no thermal zone has a valid reading',
      );
    };
    const first = read();
    return 'unavailable' in first ? first : { read, close: () => undefined };
  },
});
