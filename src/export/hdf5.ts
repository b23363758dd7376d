import type { RowFormat } from './format';
import { Hdf5File, type Hdf5Table } from './hdf5-file';
import { SampleTables } from './hdf5-samples';
import type { OutputFile } from './output-file';
import type { Table } from './table';

/**
 * HDF5: records and series are one table each; samples are in one group per job, as in colmet. The texts of the first
 * page determine the length of text columns.
 */
export async function openHdf5Format(
  { what, columns }: Pick<Table, 'what' | 'columns'>,
  output: OutputFile,
): Promise<RowFormat> {
  const file = await Hdf5File.open(output);
  const samples = what === 'samples' ? new SampleTables(file, columns) : null;
  let table: Hdf5Table | null = null;
  return {
    rows: ({ columns: values, rows }) => {
      if (samples !== null) samples.add(values, rows);
      else {
        table ??= file.table(`/${what}`, columns, values);
        table.append(values, rows);
      }
    },
    end: () => {
      if (samples !== null) samples.flush();
      else table ??= file.table(`/${what}`, columns, []);
      file.close();
    },
    abandon: () => file.abandon(),
  };
}
