import { listNames, readInteger, readText } from '../files';
import { metricsOf, opened, reading, source, unavailable, type Metric, type Place, type Reading } from '../source';
import { celsiusOf } from './celsius';
import { byNumber, namesInOrder, plainName } from './names';

const { gauge, counter } = metricsOf('hwmon');

const SENSOR = { instance: 'chip/sensor' };
const TENTHS = { ...SENSOR, resolution: 10 };
const THOUSANDTHS = { ...SENSOR, resolution: 1000 };

const TEMPERATURE = gauge('temperature', 'celsius', 'Temperature.', TENTHS);
const TEMPERATURE_MAX = gauge('temperature_max', 'celsius', 'Temperature that the sensor should stay below.', TENTHS);
const TEMPERATURE_CRITICAL = gauge('temperature_critical', 'celsius', 'Temperature that does damage.', TENTHS);
const FAN = gauge('fan', 'rpm', 'Speed of a fan.', SENSOR);
const POWER = gauge('power', 'watts', "Power: of the moment, else the chip's own average (NVIDIA Grace).", THOUSANDTHS);
const VOLTAGE = gauge('voltage', 'volts', 'Voltage.', THOUSANDTHS);
const ENERGY = counter(
  'energy',
  'joules',
  'Energy since the driver was loaded (amd_energy: cores and sockets).',
  THOUSANDTHS,
);

/** hwmon counts in millidegrees, millivolts, microwatts and microjoules (Documentation/hwmon/sysfs-interface). */
const scaled =
  (divisor: number) =>
  (raw: number | null): number | null =>
    raw === null ? null : raw / divisor;
const positive =
  (divisor: number) =>
  (raw: number | null): number | null =>
    raw === null || raw < 0 ? null : raw / divisor;

interface Attribute {
  readonly metric: Metric;
  /** The first of these files that holds a value is read. */
  readonly suffixes: readonly string[];
  readonly convert: (raw: number | null) => number | null;
}

const ATTRIBUTES: Readonly<Record<string, readonly Attribute[]>> = {
  temp: [
    { metric: TEMPERATURE, suffixes: ['input'], convert: celsiusOf },
    { metric: TEMPERATURE_MAX, suffixes: ['max'], convert: celsiusOf },
    { metric: TEMPERATURE_CRITICAL, suffixes: ['crit'], convert: celsiusOf },
  ],
  fan: [{ metric: FAN, suffixes: ['input'], convert: positive(1) }],
  power: [{ metric: POWER, suffixes: ['input', 'average'], convert: positive(1e6) }],
  in: [{ metric: VOLTAGE, suffixes: ['input'], convert: scaled(1000) }],
  energy: [{ metric: ENERGY, suffixes: ['input'], convert: positive(1e6) }],
};

const READ_ATTRIBUTE = /^((temp|fan|power|in|energy)\d+)_(?:input|average)$/;
const ONE_CORE = /^E?core ?\d+$/i;

interface Sensor {
  readonly instance: string;
  /** "/sys/class/hwmon/hwmon3/temp1" */
  readonly path: string;
  readonly attributes: readonly Attribute[];
}

/** Kernels before 3.13 and the ACPI power meter hold the attributes in the parent device, not in the chip itself. */
function attributeDirectories(chip: string): readonly string[] {
  return [chip, `${chip}/device`].filter((directory) => listNames(directory).some((name) => READ_ATTRIBUTE.test(name)));
}

/** ACPI power meters (Grace) have no label but a line of the vendor's: "Grace Power Socket 0". */
function labelOf(sensor: string): string {
  return plainName(readText(`${sensor}_label`) ?? readText(`${sensor}_oem_info`) ?? '');
}

function sensorsOf(chip: string, chipName: string, perCore: boolean): readonly Sensor[] {
  const nameOf = namesInOrder();
  return attributeDirectories(chip).flatMap((directory) => {
    const sensors = new Map<string, string>();
    for (const file of listNames(directory)) {
      const [, sensor, kind] = READ_ATTRIBUTE.exec(file) ?? [];
      if (sensor !== undefined && kind !== undefined) sensors.set(sensor, kind);
    }
    return [...sensors]
      .sort(([a, kindOfA], [b, kindOfB]) => (kindOfA === kindOfB ? byNumber(a, b) : a < b ? -1 : 1))
      .flatMap(([sensor, kind]): readonly Sensor[] => {
        const path = `${directory}/${sensor}`;
        const label = labelOf(path);
        if (!perCore && ONE_CORE.test(label)) return [];
        const instance = `${chipName}/${nameOf(path, label === '' ? sensor : label)}`;
        return [{ instance, path, attributes: ATTRIBUTES[kind] ?? [] }];
      });
  });
}

/** Chips by their own name; a second "coretemp" is "coretemp#2". */
function chipFinder({ sys, options }: Place): () => readonly Sensor[] {
  const directory = `${sys}/class/hwmon`;
  const nameOf = namesInOrder();
  let listing = '';
  let sensors: readonly Sensor[] = [];
  return () => {
    const chips = listNames(directory)
      .filter((name) => /^hwmon\d+$/.test(name))
      .sort(byNumber);
    if (chips.join() !== listing) {
      listing = chips.join();
      sensors = chips.flatMap((chip) => {
        const path = `${directory}/${chip}`;
        const name = plainName(readText(`${path}/name`) ?? readText(`${path}/device/name`) ?? '');
        return sensorsOf(path, nameOf(`${chip} ${name}`, name === '' ? chip : name), options.per_core !== false);
      });
    }
    return sensors;
  };
}

function readSensor({ instance, path, attributes }: Sensor): readonly Reading[] {
  const readings: Reading[] = [];
  for (const { metric, suffixes, convert } of attributes)
    for (const suffix of suffixes) {
      const value = convert(readInteger(`${path}_${suffix}`));
      if (value === null) continue;
      readings.push(reading(metric, value, instance));
      break;
    }
  return readings;
}

export const hwmon = source({
  name: 'hwmon',
  reads: ['/sys/class/hwmon/hwmon*/{temp,fan,power,in,energy}*'],
  metrics: [TEMPERATURE, TEMPERATURE_MAX, TEMPERATURE_CRITICAL, FAN, POWER, VOLTAGE, ENERGY],
  // Behind a sensor may be an I2C bus, a disk that is asked by command, or a power meter that asks the BMC.
  blocking: true,
  interval: 30,
  /** per_core: sensors of single cores (coretemp, amd_energy) too. */
  options: { per_core: true },
  open: (place) => {
    const sensors = chipFinder(place);
    return opened(
      () => sensors().flatMap(readSensor),
      () => unavailable(`no sensor that can be read in ${place.sys}/class/hwmon`),
    );
  },
});
