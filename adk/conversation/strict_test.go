package conversation

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDecodeRecord_RefusesAFieldThatItDoesNotKnow: of a record of this format nothing is passed over, and one of a newer format
// is said to be that.
// Rule distributed/J8.
func TestDecodeRecord_RefusesAFieldThatItDoesNotKnow(t *testing.T) {
	record := func(format int, more string) []byte {
		head := fmt.Sprintf(`{"v":%d,"id":"1","kind":"append"%s}`, format, more)
		require.True(t, json.Valid([]byte(head)))
		return append([]byte{byte(len(head))}, head...)
	}
	_, err := decodeRecord(record(recordFormat, ""))
	require.NoError(t, err)
	_, err = decodeRecord(record(recordFormat, `,"sealed":"x"`))
	require.ErrorContains(t, err, `unknown field "sealed"`)
	_, err = decodeRecord(record(recordFormat, `,"state":{"life":"1","sealed":"x"}`))
	require.ErrorContains(t, err, `unknown field "sealed"`)
	_, err = decodeRecord(record(recordFormat+1, `,"sealed":"x"`))
	require.ErrorContains(t, err, "use a newer one")
}
