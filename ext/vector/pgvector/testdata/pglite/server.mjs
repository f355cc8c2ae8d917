// A PostgreSQL with pgvector, for the tests where no other one is: it prints its port, and ends with its input.
import { PGlite } from '@electric-sql/pglite'
import { vector } from '@electric-sql/pglite-pgvector'
import { PGLiteSocketServer } from '@electric-sql/pglite-socket'

const db = await PGlite.create({ extensions: { vector } })
const server = new PGLiteSocketServer({ db, host: '127.0.0.1', port: 0, maxConnections: 10 })
server.addEventListener('listening', (event) => console.log(event.detail.port))
await server.start()
process.stdin.resume()
process.stdin.on('end', () => process.exit(0))
