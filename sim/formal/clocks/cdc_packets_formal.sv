// cdc_packets is a queue of Depth beats and one more, between two clocks of any phases and rates, which the solver chooses: from one
// restart to the next. Each synchronizer catches what is there at its edge. It is shown for beats of two groups of bits.
module cdc_packets_formal #(
    parameter int unsigned DataW = 8,
    parameter int unsigned Depth = 16,
    parameter int unsigned GroupW = 4,

    localparam int unsigned PtrW = $clog2(Depth)
) (
    input logic s_clk,
    input logic s_rst,

    input logic [DataW-1:0] s_axis_tdata,
    input logic             s_axis_tlast,
    input logic             s_axis_tvalid,
    input logic             s_axis_tready,

    input logic m_clk,
    input logic m_rst,

    input logic [DataW-1:0] m_axis_tdata,
    input logic             m_axis_tlast,
    input logic             m_axis_tvalid,
    input logic             m_axis_tready,
    input logic             whole_o,
    input logic             clear_o,

    input logic s_stop,
    input logic s_clear,
    input logic m_stop,
    input logic m_ending,
    input logic full_q,
    input logic skip_q,
    input logic cut_q,
    input logic [2:0] dry_q,
    input logic push,
    input logic pop,
    input logic last,
    input logic valid_q,

    input logic [PtrW:0] write_q,
    input logic [PtrW:0] ends_q,
    input logic [PtrW:0] read_q,
    input logic [PtrW:0] taken_q,
    input logic [PtrW:0] ends_seen_q,

    // On their way: the register of the code, its first synchronizer, those behind it
    input logic [PtrW:0]      write_gray,
    input logic [PtrW:0]      write_meta,
    input logic [PtrW:0]      write_sync,
    input logic [PtrW:0]      ends_gray,
    input logic [PtrW:0]      ends_meta,
    input logic [2:0][PtrW:0] ends_sync,
    input logic [PtrW:0]      read_gray,
    input logic [PtrW:0]      read_meta,
    input logic [PtrW:0]      read_sync,

    input logic [         1:0]           valids_q,  // of both groups
    input logic [         1:0][PtrW-1:0] index,
    input logic [      PtrW:0]           copy_index,  // of the second group
    input logic [      PtrW:0]           copy_code,
    input logic [  GroupW-1:0]           low_memory [Depth],
    input logic [DataW-GroupW:0]         high_memory[Depth]
);

  typedef logic [PtrW:0] count_t;

  function automatic count_t gray(input count_t count);
    return count ^ (count >> 1);
  endfunction

  function automatic count_t decoded(input count_t code);
    for (int unsigned k = 0; k <= PtrW; k++) decoded[k] = ^(code >> k);
  endfunction

  always_comb assume (!s_rst && !m_rst && !s_stop && !s_clear && !m_stop && !m_ending && !clear_o);
  logic s_begun_q = 1'b0;
  logic m_begun_q = 1'b0;  // there was an edge of the clock

  always_ff @(posedge s_clk) s_begun_q <= 1'b1;
  always_ff @(posedge m_clk) m_begun_q <= 1'b1;
  always_comb begin
    if (!s_begun_q && !m_begun_q) begin
      assume (write_q == '0 && ends_q == '0 && read_q == '0 && taken_q == '0 && ends_seen_q == '0);
      assume (copy_index == '0 && copy_code == '0);
      assume (valids_q == '0 && index == '0 && !cut_q && !skip_q && dry_q == '0 && !full_q);
    end
  end

  logic [Depth-1:0][DataW:0] memory;

  always_comb begin
    for (int unsigned k = 0; k < Depth; k++) memory[k] = {high_memory[k], low_memory[k]};
  end

  // One beat, any, from where it goes in to where it comes out
  count_t any;
  logic [DataW:0] item_q;

  always_ff @(posedge s_clk) begin
    any <= any;
    if (push && write_q == any) item_q <= {s_axis_tlast, s_axis_tdata};
  end

  // Ends of packets: in memory as the reader sees it, and in all of it
  count_t seen, on_way, gone;

  assign seen = decoded(write_sync);
  assign on_way = decoded(write_meta);

  // Ends that have gone in up to each beat in memory
  count_t up_to_q[Depth];

  always_ff @(posedge s_clk) if (push) up_to_q[PtrW'(write_q)] <= ends_q + count_t'(s_axis_tlast);

  function automatic count_t ends_to(input count_t to);
    return to == read_q ? gone : up_to_q[PtrW'(to-count_t'(1))];
  endfunction

  logic counted, bounded;
  logic [Depth-1:0][PtrW:0] place;  // of each beat in memory, from the one that is read next

  always_comb begin
    counted = 1'b1;
    bounded = 1'b1;
    for (int unsigned k = 0; k < Depth; k++) begin
      place[k] = count_t'(PtrW'(k) - PtrW'(read_q));
      place[k][PtrW] = 1'b0;
      if (place[k] < count_t'(write_q - read_q)) begin
        counted &= up_to_q[k] == (place[k] == '0 ? gone : up_to_q[(k+Depth-1)%Depth]) + count_t'(memory[k][DataW]);
        bounded &= count_t'(up_to_q[k] - gone) <= place[k] + count_t'(1);
      end
    end
  end

  assign gone = taken_q + count_t'(valid_q && last);  // ends that have left the memory

  // Places, as far ahead of what the writer knows to be read; and counts, as far behind the ends that are taken
  function automatic logic ordered(input count_t low, input count_t high, input count_t base);
    return count_t'(low - base) <= count_t'(high - base);
  endfunction

  localparam count_t LAG = 3;  // an end may be taken so long before it is seen
  count_t base;
  assign base = taken_q - LAG;

  always_comb begin
    i_write_code : assert (decoded(write_gray) == write_q);
    i_ends_code : assert (decoded(ends_gray) == ends_q);
    i_read_code : assert (decoded(read_gray) == read_q);
    i_in_step : assert (valids_q == {2{valid_q}} && index == {2{read_q[PtrW-1:0]}});
    i_copy : assert (copy_index == read_q && copy_code == read_gray);
    i_read_meta : assert (ordered(decoded(read_sync), decoded(read_meta), decoded(read_sync)));
    i_read : assert (ordered(decoded(read_meta), read_q, decoded(read_sync)));
    i_seen : assert (ordered(read_q, seen, decoded(read_sync)));
    i_on_way : assert (ordered(seen, on_way, decoded(read_sync)));
    i_write : assert (ordered(on_way, write_q, decoded(read_sync)));
    a_room : assert (count_t'(write_q - decoded(read_sync)) <= count_t'(Depth));
    i_not_full : assert (full_q || count_t'(write_q - decoded(read_sync)) < count_t'(Depth));
    a_overwrites : assert (count_t'(write_q - read_q) <= count_t'(Depth));

    i_counted : assert (counted);
    i_bounded : assert (bounded);
    i_all_ends : assert (ends_q == ends_to(write_q));
    i_ends_meta : assert (decoded(ends_meta) == ends_to(on_way));
    i_ends_sync0 : assert (decoded(ends_sync[0]) == ends_to(seen));
    i_ends_sync1 : assert (ordered(taken_q, decoded(ends_sync[1]), base));
    i_ends_sync1_last : assert (ordered(decoded(ends_sync[1]), decoded(ends_sync[0]), base));
    i_ends_sync2 : assert (ordered(taken_q - count_t'(1), decoded(ends_sync[2]), base));
    i_ends_sync2_last : assert (ordered(decoded(ends_sync[2]), decoded(ends_sync[1]), base));
    i_ends_seen : assert (ordered(taken_q - count_t'(2), ends_seen_q, base));
    i_ends_seen_last : assert (ordered(ends_seen_q, decoded(ends_sync[2]), base));
    i_full : assert (count_t'(ends_q - taken_q) <= count_t'(Depth + 1));
    if (decoded(ends_sync[1]) != taken_q) i_loaded : assert (valid_q);
    i_no_cut : assert (!cut_q && !skip_q && dry_q == '0);

    if (count_t'(any - read_q) < count_t'(write_q - read_q)) i_kept : assert (memory[PtrW'(any)] == item_q);
    if (valid_q && any == count_t'(read_q - count_t'(1))) a_order : assert ({m_axis_tlast, m_axis_tdata} == item_q);
    a_pops_what_is_there : assert (!pop || valid_q);
    if (whole_o) a_whole : assert (m_axis_tvalid);
    if (whole_o) a_its_end_is_inside : assert (m_axis_tlast || ends_to(seen) != gone);
  end

  logic m_whole_q = 1'b0;  // what was offered is whole, and not at its end

  always_ff @(posedge m_clk) m_whole_q <= whole_o && !(pop && m_axis_tlast);
  always_comb if (m_whole_q) a_without_gap : assert (m_axis_tvalid && whole_o);

  count_t write_gray_q;
  always_ff @(posedge s_clk) begin
    write_gray_q <= write_gray;
  end
  always_comb if (s_begun_q) a_one_bit : assert ($onehot0(write_gray_q ^ write_gray));
  always_comb if (s_begun_q) i_step : assert (count_t'(write_q - decoded(write_gray_q)) <= count_t'(1));

endmodule

bind cdc_packets cdc_packets_formal #(
    .DataW (DataW),
    .Depth (Depth),
    .GroupW(GroupW)
) u_formal (
    .write_gray (u_written.gray_q),
    .write_meta (u_written.u_bits.meta_q),
    .write_sync (u_written.u_bits.sync_q),
    .ends_gray  (u_ends.gray_q),
    .ends_meta  (u_ends.u_bits.meta_q),
    .ends_sync  (u_ends.u_bits.sync_q),
    .copy_index (gen_group[1].gen_copy.index_q),
    .copy_code  (gen_group[1].gen_copy.code_q),
    .read_gray  (u_read.gray_q),
    .read_meta  (u_read.u_bits.meta_q),
    .read_sync  (u_read.u_bits.sync_q),
    .low_memory (u_ram.gen_group[0].gen_luts.memory),
    .high_memory(u_ram.gen_group[1].gen_luts.memory),
    .*
);
