"""Judges lineage documents with third-party code, offline.

Reads {"as": ..., "document": ...} from stdin and prints a JSON list of problems, empty if the
document is valid. STAC: pystac with the schemas inside its package. PROV: rdflib and the prov
package. DCAT: rdflib and SHACL shapes. OpenLineage: the classes of openlineage-python.
"""

import io
import json
import sys
from pathlib import Path


def stac(document):
    from pystac import STACValidationError
    from pystac.extensions.file import FileExtension
    from pystac.extensions.table import TableExtension
    from pystac.stac_object import STACObjectType
    from pystac.validation.stac_validator import JsonSchemaSTACValidator
    import pystac

    try:
        JsonSchemaSTACValidator().validate_core(
            document, STACObjectType.ITEM, document.get("stac_version", "1.1.0")
        )
    except STACValidationError as error:
        return [str(error)]
    item = pystac.Item.from_dict(document)
    problems = []
    for name, asset in item.assets.items():
        checksum = FileExtension.ext(asset).checksum
        if len(bytes.fromhex(checksum)) != 34 or not checksum.startswith("1220"):
            problems.append(f"asset {name}: {checksum} is not a SHA-256 multihash")
        if not isinstance(TableExtension.ext(asset).columns or [], list):
            problems.append(f"asset {name}: bad columns")
    return problems


def graph_of(document):
    from rdflib import Graph

    return Graph().parse(data=json.dumps(document), format="json-ld")


def prov(document):
    from prov.model import ProvActivity, ProvDocument, ProvGeneration, ProvUsage

    graph = graph_of(document)
    if len(graph) == 0:
        return ["the document contains no statements"]
    turtle = graph.serialize(format="turtle")
    parsed = ProvDocument.deserialize(io.StringIO(turtle), format="rdf", rdf_format="turtle")
    problems = []
    if len(list(parsed.get_records(ProvActivity))) != 1:
        problems.append("the prov package does not find exactly one activity")
    if not list(parsed.get_records(ProvUsage)):
        problems.append("the prov package finds nothing that was used")
    if not list(parsed.get_records(ProvGeneration)):
        problems.append("the prov package finds nothing that was generated")
    return problems


def dcat(document):
    from pyshacl import validate

    shapes = Path(__file__).with_name("dcat-shapes.ttl").read_text()
    conforms, _, text = validate(graph_of(document), shacl_graph=shapes, shacl_graph_format="turtle")
    return [] if conforms else [text]


def openlineage(events):
    from openlineage.client import facet_v2, serde
    from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState

    classes = {
        "processing_engine": facet_v2.processing_engine_run.ProcessingEngineRunFacet,
        "nominalTime": facet_v2.nominal_time_run.NominalTimeRunFacet,
        "errorMessage": facet_v2.error_message_run.ErrorMessageRunFacet,
        "jobType": facet_v2.job_type_job.JobTypeJobFacet,
        "version": facet_v2.dataset_version_dataset.DatasetVersionDatasetFacet,
        "schema": facet_v2.schema_dataset.SchemaDatasetFacet,
        "outputStatistics": facet_v2.output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet,
    }

    def facets(values):
        built = {}
        for name, fields in values.items():
            own = {k: v for k, v in fields.items() if not k.startswith("_")}
            for key in ("_producer", "_schemaURL"):
                if key not in fields:
                    raise ValueError(f"facet {name} has no {key}")
            if name not in classes:
                continue
            built[name] = classes[name](**own)
            if fields["_schemaURL"] != built[name]._schemaURL:
                raise ValueError(f"{name}: {fields['_schemaURL']} is not {built[name]._schemaURL}")
        return built

    problems, kinds = [], []
    for event in events:
        try:
            run, job = event["run"], event["job"]
            parsed = RunEvent(
                eventTime=event["eventTime"],
                producer=event["producer"],
                eventType=RunState[event["eventType"]],
                run=Run(runId=run["runId"], facets=facets(run["facets"])),
                job=Job(namespace=job["namespace"], name=job["name"], facets=facets(job["facets"])),
                inputs=[
                    InputDataset(namespace=d["namespace"], name=d["name"], facets=facets(d["facets"]))
                    for d in event["inputs"]
                ],
                outputs=[
                    OutputDataset(
                        namespace=d["namespace"],
                        name=d["name"],
                        facets=facets(d["facets"]),
                        outputFacets=facets(d["outputFacets"]),
                    )
                    for d in event["outputs"]
                ],
            )
            if event["schemaURL"] != parsed.schemaURL:
                problems.append(f"{event['schemaURL']} is not {parsed.schemaURL}")
            json.loads(serde.Serde.to_json(parsed))
            kinds.append(event["eventType"])
        except (KeyError, TypeError, ValueError) as error:
            problems.append(f"{type(error).__name__}: {error}")
    if kinds.count("START") != 1 or kinds.count("COMPLETE") + kinds.count("FAIL") > 1:
        problems.append(f"a run needs one START and at most one end, not {kinds}")
    return problems


CHECKS = {"stac": stac, "prov": prov, "dcat": dcat, "openlineage": openlineage}

print(json.dumps([CHECKS[each["as"]](each["document"]) for each in json.load(sys.stdin)]))
