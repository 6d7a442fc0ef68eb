from django.apps import AppConfig


class QaConfig(AppConfig):
    name = "qa"
    verbose_name = "Questions: from question to evidenced answer"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from ingestion.seams.derived_store import register
        from qa.services.derived import AnswersStore

        register(AnswersStore())
