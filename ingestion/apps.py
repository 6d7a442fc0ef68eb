from django.apps import AppConfig


class IngestionConfig(AppConfig):
    name = "ingestion"
    verbose_name = "Ingestion: from event to live index"
    default_auto_field = "django.db.models.BigAutoField"
