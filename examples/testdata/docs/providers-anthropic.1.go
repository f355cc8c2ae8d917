package main

import (
	"os"

	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	drive.Check(os.Setenv("AWS_ACCESS_KEY_ID", "key"))
	drive.Check(os.Setenv("AWS_SECRET_ACCESS_KEY", "secret"))
	main_()
	_, err := onVertex(drive.Context(), drive.ServiceAccount())
	drive.Check(err)
}
