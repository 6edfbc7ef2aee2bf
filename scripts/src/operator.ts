import { loadDotEnv } from './home.ts'
import { operate } from './operator/operate.ts'

loadDotEnv()
const { code, out, err } = await operate(process.argv.slice(2), process.env)
// a pipe takes what is written before the process ends
process.stdout.write(out)
process.stderr.write(err)
process.exit(code)
