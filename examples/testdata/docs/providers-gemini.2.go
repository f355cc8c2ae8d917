package main

import (
	"os"

	"github.com/weftgo/weft/examples/internal/drive"
)

func driver() {
	drive.Check(os.WriteFile("service-account.json", drive.ServiceAccount(), 0o600))
	main_()
}
