alter table chunks drop column repeated;
alter table versions drop column own_vectors;
