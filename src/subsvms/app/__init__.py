"""What needs `subsvms[app]`: tables from files, the report, the review page and the command line."""
