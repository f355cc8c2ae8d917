package sqlite

import (
	"testing"

	"github.com/weftgo/weft/adk/dispatch/dispatchtest"
)

// TestStore_IsWrittenWhatARunAdds.
// Rule distributed/J10.
func TestStore_IsWrittenWhatARunAdds(t *testing.T) { dispatchtest.RunWritten(t, newStore(t)) }
