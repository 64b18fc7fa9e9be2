// Queue of packets between two clocks. Its reader sees whether all of the packet that it is offered is inside: once it is, the packet
// can be taken one beat a cycle, without a gap. Holds one beat more than Depth.
// A reset of either side empties it, restarts both sides, and leaves no piece of a packet behind: of one that the source is in, the rest
// is swallowed; one that the sink is in ends with a beat that says so. A first beat that is offered may be withdrawn then.
// In LUTs every GroupW bits have their own copy of what reads them, so that none drives more, also where the sink is always ready; all
// copies are always equal.
module cdc_packets #(
    parameter int unsigned DataW = 8,
    parameter int unsigned Depth = 16,   // beats
    parameter bit          Block = 1'b0,  // in block RAM, else in LUTs
    parameter int unsigned GroupW = 112,  // eight cells of 32 words

    localparam int unsigned LevelW = $clog2(Depth) + 1
) (
    input logic s_clk,
    input logic s_rst,

    input  logic [DataW-1:0] s_axis_tdata,
    input  logic             s_axis_tlast,
    input  logic             s_axis_tvalid,
    output logic             s_axis_tready,

    input logic m_clk,
    input logic m_rst,

    output logic [ DataW-1:0] m_axis_tdata,
    output logic              m_axis_tlast,
    output logic              m_axis_tuser,  // with tlast: the packet is cut here, by a reset of the source's side
    output logic              m_axis_tvalid,
    input  logic              m_axis_tready,
    output logic              whole_o,       // the end of this packet is inside
    output logic [LevelW-1:0] level_o,       // beats in memory, some cycles ago
    output logic              clear_o        // it is empty, and the reader forgets what it did
);

  if (Depth < 8 || (Depth & (Depth - 1)) != 0) begin : gen_check
    $error("%m: Depth = %0d must be a power of two, 8 or more", Depth);
  end

  localparam int unsigned PTR_W = $clog2(Depth);
  localparam int unsigned STAGES = 2;
  localparam int unsigned END_STAGES = 4;  // what is before an end is seen before it, however the two are caught
  localparam int unsigned DRY = 7;  // cycles; more than the last beats take to be seen

  localparam int unsigned GROUPS = Block ? 1 : (DataW + GroupW) / GroupW;

  typedef logic [PTR_W:0] count_t;  // one bit more than an index: equal is empty, Depth apart is full

  localparam count_t FULL = count_t'(Depth) ^ count_t'(Depth / 2);  // Gray codes of counts Depth apart differ in it

  // The writer
  logic [1:0] s_state, m_state;
  logic s_stop, s_clear, m_stop, m_ending;
  count_t write_q, write_d, write_next, write_code, ends_q, ends_d, read_seen_code;
  logic full_q, inside_q, skip_q, take, push;

  assign s_axis_tready = !s_stop && (skip_q || !full_q);
  assign take = s_axis_tvalid && s_axis_tready;
  assign push = take && !skip_q;

  // Chosen behind the sums, for whether there is room comes late
  assign write_next = write_q + 1'b1;
  assign write_d = s_clear ? '0 : push ? write_next : write_q;
  assign ends_d = s_clear ? '0 : push && s_axis_tlast ? ends_q + 1'b1 : ends_q;

  always_ff @(posedge s_clk) begin
    write_q <= write_d;
    ends_q  <= ends_d;
    full_q  <= (push ? (write_next ^ (write_next >> 1)) ^ read_seen_code : write_code ^ read_seen_code) == FULL;
    if (take) inside_q <= !s_axis_tlast;
    if (take && s_axis_tlast) skip_q <= 1'b0;
    if (s_clear && inside_q) skip_q <= 1'b1;
    if (s_rst) begin
      inside_q <= 1'b0;
      skip_q   <= 1'b0;
    end
  end

  // The reader
  count_t read_q, read_d, read_code, written, written_code, ends, ends_seen_q, taken_q, waiting;
  logic valid_q, pop, m_inside_q, m_inside_d, cut_q, last;
  logic [GROUPS-1:0] load, some;
  logic [2:0] dry_q;
  (* keep, dont_merge *)logic [GROUPS-1:0] valids_q;
  logic [GROUPS-1:0][PTR_W-1:0] index;  // of the beat that is read next

  assign valid_q = valids_q[0];
  assign pop = m_axis_tvalid && m_axis_tready;
  assign read_d = clear_o ? '0 : load[0] ? read_q + 1'b1 : read_q;
  assign m_inside_d = pop ? !m_axis_tlast : m_inside_q;

  always_ff @(posedge m_clk) begin
    read_q <= read_d;
    ends_seen_q <= ends;
    taken_q <= taken_q + count_t'(pop && last && !cut_q);
    m_inside_q <= m_inside_d;
    level_o <= written - read_q;
    dry_q <= m_ending && m_inside_d && !valid_q && !some[0] ? dry_q + 3'(dry_q != 3'(DRY)) : '0;
    cut_q <= dry_q == 3'(DRY) && !pop;
    if (clear_o) begin
      ends_seen_q <= '0;
      taken_q <= '0;
    end
    if (m_rst) begin
      m_inside_q <= 1'b0;
      cut_q <= 1'b0;
      dry_q <= '0;
    end
  end

  for (genvar g = 0; g < GROUPS; g++) begin : gen_group
    assign load[g] = some[g] && (m_axis_tready && (valids_q[g] || cut_q) || !valids_q[g]) && !m_stop;

    always_ff @(posedge m_clk) valids_q[g] <= !clear_o && (load[g] || (valids_q[g] && !(pop && !cut_q)));

    if (g == 0) begin : gen_first
      assign some[g]  = written_code != read_code;
      assign index[g] = read_q[PTR_W-1:0];
    end else begin : gen_copy
      (* keep, dont_merge *)count_t index_q, code_q;
      count_t index_d;

      assign index_d = clear_o ? '0 : load[g] ? index_q + 1'b1 : index_q;

      always_ff @(posedge m_clk) begin
        index_q <= index_d;
        code_q  <= index_d ^ (index_d >> 1);
      end

      assign some[g]  = written_code != code_q;
      assign index[g] = index_q[PTR_W-1:0];
    end
  end

  assign m_axis_tlast = last || cut_q;
  assign m_axis_tuser = cut_q;
  assign m_axis_tvalid = (valid_q || cut_q) && !m_stop;
  // An end may be taken some cycles before it is seen: less than none wait then.
  assign waiting = ends_seen_q - taken_q;
  assign whole_o = waiting != '0 && waiting <= count_t'(Depth + 1);

  // Between both
  cdc_restart u_s_restart (
      .clk     (s_clk),
      .rst     (s_rst),
      .quiet_i (1'b1),
      .peer_i  (m_state),
      .state_o (s_state),
      .ending_o(),
      .stop_o  (s_stop),
      .clear_o (s_clear)
  );

  cdc_restart u_m_restart (
      .clk     (m_clk),
      .rst     (m_rst),
      .quiet_i (!m_inside_d),
      .peer_i  (s_state),
      .state_o (m_state),
      .ending_o(m_ending),
      .stop_o  (m_stop),
      .clear_o
  );

  cdc_gray #(
      .Width (PTR_W + 1),
      .Stages(STAGES)
  ) u_written (
      .s_clk,
      .next_i  (write_d),
      .s_code_o(write_code),
      .m_clk,
      .m_code_o(written_code),
      .count_o (written)
  );

  cdc_gray #(
      .Width (PTR_W + 1),
      .Stages(END_STAGES)
  ) u_ends (
      .s_clk,
      .next_i  (ends_d),
      .s_code_o(),
      .m_clk,
      .m_code_o(),
      .count_o (ends)
  );

  cdc_gray #(
      .Width (PTR_W + 1),
      .Stages(STAGES)
  ) u_read (
      .s_clk   (m_clk),
      .next_i  (read_d),
      .s_code_o(read_code),
      .m_clk   (s_clk),
      .m_code_o(read_seen_code),
      .count_o ()
  );

  cdc_ram #(
      .DataW (DataW + 1),
      .Depth (Depth),
      .Block (Block),
      .GroupW(GroupW)
  ) u_ram (
      .s_clk,
      .write_i     (push),
      .write_addr_i(write_q[PTR_W-1:0]),
      .write_data_i({s_axis_tlast, s_axis_tdata}),
      .m_clk,
      .read_i      (load),
      .read_addr_i (index),
      .read_data_o ({last, m_axis_tdata})
  );

endmodule
