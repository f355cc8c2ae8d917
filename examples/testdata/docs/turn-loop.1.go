package main

import (
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	on, err := approveOrStartOver(drive.Context(), nil, []string{"pay"}, nil, []string{"approved"})
	drive.Check(err)
	drive.Equal(on.Consumed, []string{"pay", "approved"})
	over, err := approveOrStartOver(drive.Context(), nil, []string{"pay"}, []string{"wait"}, []string{"something else"})
	drive.Check(err)
	drive.Equal(over.Remaining, []string{"wait", "something else"})
}
