"""Several processes on one database, at random killed, ended, cancelled and raised; then the laws."""
