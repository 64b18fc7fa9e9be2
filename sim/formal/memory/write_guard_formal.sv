// write_guard: a writer is answered for each of its bursts once, in order: as the memory has answered that one, or with an error. The memory
// gets each burst that it was asked for to its end, with data of the writer, or none. Bursts are numbered as the writer gives them, and
// as the memory gets them; one, any, is followed.
module write_guard_formal
  import axi_pkg::*;
#(
    parameter int unsigned DataW = 512,
    parameter int unsigned Bursts = 32,

    localparam int unsigned KeepW = DataW / 8,
    localparam int unsigned CountW = $clog2(Bursts) + 2,
    localparam int unsigned PtrW = $clog2(Bursts)
) (
    input logic clk,
    input logic rst,

    input logic drain_i,

    input axi_write_request_t  s_axi_i,
    input axi_write_response_t s_axi_o,
    input logic [DataW-1:0]    s_axi_wdata,
    input logic [KeepW-1:0]    s_axi_wstrb,
    input axi_write_request_t  m_axi_o,
    input axi_write_response_t m_axi_i,
    input logic [DataW-1:0]    m_axi_wdata,
    input logic [KeepW-1:0]    m_axi_wstrb,

    input logic late_o,
    input logic owes_o,
    input logic left_o,

    input logic [CountW-1:0] due_q,
    input logic [CountW-1:0] open_q,
    input logic [CountW-1:0] owed_q,
    input logic [CountW-1:0] blank_q,
    input logic              answers_q,
    input logic [7:0]        beat_q,
    input logic              last,

    // Addresses on their way, lengths of bursts that lack data, the beat on its way
    input logic [71:0]         data_q,
    input logic [71:0]         skid_q,
    input logic                valid_q,
    input logic                skid_valid_q,
    input logic [7:0]          memory[Bursts],
    input logic [PtrW:0]       write_q,
    input logic [PtrW:0]       read_q,
    input logic                full_q,
    input logic                beat_skid_valid_q,
    input logic [DataW+KeepW:0] beat_skid_q
);

  typedef logic [7:0] number_t;  // of bursts: more than are ever under way

  reset_rule u_reset (.*);

  hold_rule #(
      .DataW(72)
  ) u_hold_address (
      .clk,
      .rst,
      .tdata_i ({m_axi_o.awlen, m_axi_o.awaddr}),
      .tvalid_i(m_axi_o.awvalid),
      .tready_i(m_axi_i.awready)
  );

  hold_rule #(
      .DataW(DataW + KeepW + 1)
  ) u_hold_data (
      .clk,
      .rst,
      .tdata_i ({m_axi_o.wlast, m_axi_wstrb, m_axi_wdata}),
      .tvalid_i(m_axi_o.wvalid),
      .tready_i(m_axi_i.wready)
  );

  logic asked, passed, ended, answered, came, got, addressed;
  number_t any, asked_q, passed_q, ended_q, answered_q, came_q, got_q, addressed_q;
  number_t known_q;  // the followed burst's number as the memory's
  logic is_passed_q;
  logic [1:0] waiting;

  assign asked = s_axi_i.awvalid && s_axi_o.awready;
  assign passed = asked && !answers_q;
  assign ended = s_axi_i.wvalid && s_axi_o.wready && s_axi_i.wlast;
  assign answered = s_axi_o.bvalid;
  assign came = m_axi_i.bvalid;
  assign addressed = m_axi_o.awvalid && m_axi_i.awready;
  assign got = m_axi_o.wvalid && m_axi_i.wready && m_axi_o.wlast;

  queue_rule #(
      .DataW(72),
      .Depth(2)
  ) u_queue (
      .clk,
      .rst,
      .push_data_i({s_axi_i.awlen, s_axi_i.awaddr}),
      .push_i     (passed),
      .pop_data_i ({m_axi_o.awlen, m_axi_o.awaddr}),
      .pop_i      (addressed),
      .count_o    (waiting),
      .held_i     (2'(valid_q) + 2'(skid_valid_q)),
      .items_i    ({skid_q, data_q})
  );

  // The length of the followed burst of the memory, and the beats that it has had
  number_t followed;
  logic [7:0] length_q, beats_q;

  always_ff @(posedge clk) begin
    any <= any;
    followed <= followed;
    asked_q <= asked_q + number_t'(asked);
    passed_q <= passed_q + number_t'(passed);
    ended_q <= ended_q + number_t'(ended);
    answered_q <= answered_q + number_t'(answered);
    came_q <= came_q + number_t'(came);
    got_q <= got_q + number_t'(got);
    addressed_q <= addressed_q + number_t'(addressed);
    if (m_axi_o.wvalid && m_axi_i.wready) beats_q <= m_axi_o.wlast ? '0 : beats_q + 1'b1;
    if (passed && followed == passed_q) length_q <= s_axi_i.awlen;
    if (asked && any == asked_q) begin
      is_passed_q <= passed;
      known_q <= passed_q;
    end
    if (rst) begin
      asked_q <= '0;
      passed_q <= '0;
      ended_q <= '0;
      answered_q <= '0;
      came_q <= '0;
      got_q <= '0;
      addressed_q <= '0;
      beats_q <= '0;
    end
  end

  // The writer takes answers, gives as many beats as it says; the memory answers what it has had all of.
  always_comb begin
    assume (s_axi_i.bready);
    assume (answers_q || !s_axi_i.wvalid || !s_axi_o.wready || s_axi_i.wlast == last);
    assume (!came || (got_q != came_q && addressed_q != came_q));
  end

  // The memory's bursts that lack data: the oldest is got_q, but for a last beat on its way
  number_t lacking, on_way;
  logic [PtrW:0] held;
  logic skid_ends;

  assign held = write_q - read_q;
  assign skid_ends = beat_skid_valid_q && beat_skid_q[DataW+KeepW];
  assign on_way = got_q + number_t'(skid_ends);
  assign lacking = passed_q - on_way;

  logic gave_up_q;
  always_ff @(posedge clk) gave_up_q <= !rst && (late_o || drain_i);

  always_comb begin
    if (!rst) begin
      if (answered) a_asked : assert (ended_q != answered_q && asked_q != answered_q);
      if (answered && any == answered_q && !answers_q) begin
        a_its_own : assert (came && is_passed_q && known_q == came_q && s_axi_o.bresp == m_axi_i.bresp);
      end
      if (answered && answers_q) a_error : assert (s_axi_o.bresp == 2'b10);
      if (m_axi_o.wvalid && followed == got_q) begin
        a_has_address : assert (passed_q != got_q);
        a_last : assert (m_axi_o.wlast == (beats_q == length_q));
      end
      if (gave_up_q) a_ends : assert (answered == (ended_q != answered_q));
      if (!owes_o) a_owes_nothing : assert (passed_q == came_q && asked_q == answered_q);
      a_left : assert (left_o == (number_t'(passed_q - came_q) != (answers_q ? '0 : number_t'(asked_q - answered_q))));
      if (owed_q != '0 && number_t'(got_q - came_q) < number_t'(owed_q) && !beat_skid_valid_q && m_axi_o.wvalid) begin
        a_writes_no_byte : assert (m_axi_wstrb == '0);
      end

      i_asks : assert (valid_q || !skid_valid_q);
      i_due : assert (number_t'(due_q) == number_t'(asked_q - answered_q));
      i_open : assert (number_t'(open_q) == number_t'(asked_q - ended_q) && open_q <= due_q);
      i_owed : assert (number_t'(owed_q) == number_t'(passed_q - came_q) - (answers_q ? '0 : number_t'(due_q)));
      i_most : assert (due_q <= CountW'(Bursts) && (answers_q || due_q + owed_q <= CountW'(Bursts)));
      i_most_owed : assert (owed_q <= CountW'(Bursts));
      i_lens : assert (number_t'(held) == number_t'(blank_q) + (answers_q ? '0 : number_t'(open_q)));
      i_lacking : assert (number_t'(held) == lacking);
      i_blank : assert (blank_q <= owed_q);
      i_in_order : assert (answers_q || blank_q == '0 || open_q == due_q);
      i_came : assert (number_t'(got_q - came_q) <= number_t'(passed_q - came_q));
      i_addressed : assert (number_t'(passed_q - addressed_q) == number_t'(waiting));
      i_addressed_came : assert (number_t'(addressed_q - came_q) <= number_t'(passed_q - came_q));
      i_full : assert (full_q == (write_q - read_q == (PtrW + 1)'(Bursts)));
      i_gave_up : assert (!gave_up_q || answers_q);
      if (number_t'(any - answered_q) < number_t'(due_q) && !answers_q) begin
        i_passed : assert (is_passed_q);
        i_place : assert (number_t'(known_q - came_q) == number_t'(owed_q) + number_t'(any - answered_q));
      end
      if (number_t'(followed - on_way) < lacking) begin
        i_len : assert (memory[PtrW'(read_q+(PtrW+1)'(followed-on_way))] == length_q);
      end
      if (beat_skid_valid_q) begin
        i_beat : assert (skid_ends ? beat_q == '0 : beat_q == beats_q + 1'b1);
        if (followed == got_q) i_skid : assert (passed_q != got_q && skid_ends == (beats_q == length_q));
      end else begin
        i_beats : assert (beat_q == beats_q);
      end
    end
  end

endmodule

bind write_guard write_guard_formal #(
    .DataW (DataW),
    .Bursts(Bursts)
) u_formal (
    .data_q           (u_ask.data_q),
    .skid_q           (u_ask.skid_q),
    .valid_q          (u_ask.valid_q),
    .skid_valid_q     (u_ask.skid_valid_q),
    .memory           (u_lens.gen_group[0].memory),
    .write_q          (u_lens.write_q),
    .read_q           (u_lens.read_q),
    .full_q           (u_lens.full_q),
    .beat_skid_valid_q(u_data.skid_valid_q),
    .beat_skid_q      (u_data.skid_q),
    .*
);
