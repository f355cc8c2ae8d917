package main

import (
	"errors"

	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	ctx := drive.Context()
	first, err := newRunner(ctx, drive.Agent(drive.Model(adktest.Calls(adktest.Call("dig", "{}")), adktest.Fails(errors.New("the machine broke"))),
		drive.Tool("dig", adktest.Says("dug"))))
	drive.Check(err)
	drive.Contains(start(ctx, first, "r-1", "Dig."), "the machine broke")
	second, err := newRunner(ctx, drive.Agent(drive.Model(adktest.Says("Done.").SeeingLast("tool dig#call_1: dug")), drive.Tool("dig")))
	drive.Check(err)
	drive.Check(proceed(ctx, second, "r-1"))
}
