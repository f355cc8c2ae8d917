package sqlrun

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/runs"
)

// fixed are the columns of a row that nothing but a write of the whole row changes. The sum of the data covers them, and
// the number of the row: a row whose column was damaged, or that has the data of another one, cannot be read. Rule
// distributed/B23.
type fixed struct {
	tenant, id                                  string
	born, token, held, nonce, priority, created int64
	agent, queue, serial, parent                string
	has, stops                                  int64
}

// fixed are the columns that a row is written with.
func (r *row) fixed(tenant string) fixed {
	i := &r.Run
	f := fixed{
		tenant: tenant, id: r.key, born: int64(r.Born), token: int64(i.Token), nonce: r.nonce, priority: int64(i.Priority),
		created: micros(i.Created), agent: encode(i.Agent), queue: encode(i.Queue), serial: encode(i.Key), parent: encode(i.Parent),
		has: int64(r.has), stops: r.stops,
	}
	if i.Owner != "" {
		f.held = 1
	}
	return f
}

// kind returns a number that goes into the sum of the data, with the number of the row. That a run waits in line is not in
// it: it changes alone.
func (f *fixed) kind() int64 {
	b := make([]byte, 0, 256)
	for _, text := range []string{f.tenant, f.id, f.agent, f.queue, f.serial, f.parent} {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	for _, n := range []int64{f.born, f.token, f.held, f.nonce, f.priority, f.created, f.has &^ int64(isBehind), f.stops} {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	return int64(crc32.Checksum(b, castagnoli))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encodeRow writes the data of a row, with its sum: a row without what is kept elsewhere, which is the values, and an ID
// that can be read from its key.
func encodeRow(r *row, tenant string) ([]byte, error) {
	f := r.fixed(tenant)
	saved := r.Row
	saved.Answers, saved.Result = nil, nil
	if _, ok := decode(r.key); ok {
		saved.Run.ID = ""
	}
	data, err := saved.Encode()
	if err != nil {
		return nil, err
	}
	return storekit.AddSum(data, r.no, f.kind()), nil
}

// decodeRow reads what encodeRow wrote.
func decodeRow(data []byte, no int64, f *fixed) (*storekit.Row, error) {
	whole, err := storekit.CheckSum(data, no, f.kind())
	if err != nil {
		if len(data) > storekit.SumSize { // a row of a newer release is none that was damaged
			if _, other := storekit.DecodeRow(data[:len(data)-storekit.SumSize]); other != nil {
				return nil, other
			}
		}
		return nil, fmt.Errorf("%w: a column of it: %w", runs.ErrUnreadable, err)
	}
	return storekit.DecodeRow(whole)
}
