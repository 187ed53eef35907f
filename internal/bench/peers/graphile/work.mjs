// Workers of graphile-worker in one process. Each job is a POST of its body, and is done when the receiver answers
// "success". Arguments: the receiver's URL, how many jobs run at once, how often it looks for jobs in milliseconds. The
// database's URL is the first line of the standard input; the process stops when the input ends.
import { request, Agent } from 'node:http'
import { createInterface } from 'node:readline'
import { Logger, run } from 'graphile-worker'

const [url, jobs, looks] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])]
const agent = new Agent({ keepAlive: true, maxSockets: jobs })
const { hostname, port, pathname: path } = new URL(url)

function post(body) {
  return new Promise((resolve, reject) => {
    const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }
    const req = request({ agent, hostname, port, path, method: 'POST', headers, timeout: 5000 }, (resp) => {
      let said = ''
      resp.setEncoding('latin1')
      resp.on('data', (part) => { said += part })
      resp.on('error', reject)
      resp.on('end', () => said === 'success' ? resolve() : reject(new Error(`it answered ${resp.statusCode} ${said}`)))
    })
    req.on('timeout', () => req.destroy(new Error('no answer within 5 s')))
    req.on('error', reject)
    req.end(body)
  })
}

const logger = new Logger(() => (level, message) => {
  if (level === 'error') console.error(message)
})

let runner
for await (const connectionString of createInterface({ input: process.stdin })) {
  runner = await run({
    noHandleSignals: true,
    taskList: { notify: ({ body }) => post(body) },
    preset: {
      worker: {
        connectionString,
        concurrentJobs: jobs,
        maxPoolSize: 10,
        pollInterval: looks,
        localQueue: { size: 500 },
        completeJobBatchDelay: 5,
        failJobBatchDelay: 0,
        logger,
      },
    },
  })
  console.log('ready')
}
await runner.stop()
