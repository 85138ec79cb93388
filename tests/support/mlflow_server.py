"""A process that serves MLflow's real application on a SQLite file; it prints its port.

`mlflow server` starts several processes and needs the whole of MLflow. This is the application that
they serve, from the packages that its tracking part needs.
"""

import os
import sys


def main(database: str) -> None:
    os.environ["_MLFLOW_SERVER_FILE_STORE"] = f"sqlite:///{database}"
    os.environ["_MLFLOW_SERVER_ARTIFACT_ROOT"] = f"{database}-artifacts"
    os.environ["MLFLOW_SERVER_ENABLE_JOB_EXECUTION"] = "false"
    from mlflow.server import app
    from werkzeug.serving import make_server

    server = make_server("127.0.0.1", 0, app)
    print(server.port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1])
