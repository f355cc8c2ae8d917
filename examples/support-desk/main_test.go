package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/examples/internal/demotest"
)

func TestMain(m *testing.M) { demotest.Main(m, main) }

func TestSupportDesk(t *testing.T) {
	require.Equal(t, `
> Hello
Welcome. What can we do for you?

> Is my invoice 12 paid?
(desk hands over to billing)
Here it is: invoice 12: 40 euros, paid on Monday.

> And when?
On Monday, as I said.

> Thanks. Now my printer is broken.
(billing hands over to desk)
(desk hands over to tech-support)
Have you tried turning it off and on again?
`, demotest.Run(t, ""))
}
